{{/* A quantity as a number. */}}
{{- define "training-job.number" -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18
  "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 }}
{{- $text := toString . }}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $units (regexFind "[a-zA-Z]+$" $text) | default 1 | float64) }}
{{- end -}}

{{/* The differences between an existing claim and the spec that Kubernetes rejects, one per line: list CLAIM EXISTING MODE
     FIXED. MODE is the default access mode; a FIXED claim cannot grow either. */}}
{{- define "training-job.claim-problems" -}}
{{- $claim := index . 0 }}{{ $is := (index . 1).spec }}
{{- $modes := $claim.accessModes | default (list (index . 2)) | sortAlpha | join ", " }}
{{- $have := $is.accessModes | sortAlpha | join ", " }}
{{- if ne $modes $have }}accessModes: {{ $have }} cannot become {{ $modes }}
{{ end }}
{{- if and $claim.storageClassName (ne $claim.storageClassName ($is.storageClassName | default "")) -}}
storageClassName: {{ $is.storageClassName | default "none" }} cannot become {{ $claim.storageClassName }}
{{ end }}
{{- $size := include "training-job.number" $claim.size | float64 }}
{{- $had := include "training-job.number" $is.resources.requests.storage | float64 }}
{{- if or (lt $size $had) (and (index . 3) (ne $size $had)) -}}
size: {{ $is.resources.requests.storage }} cannot become {{ $claim.size }}
{{ end }}
{{- end -}}

{{/* Fails if an existing claim or volume would have to change: Kubernetes would reject that in the middle of an upgrade.
     `lookup` finds nothing without a cluster, for example in `helm template`. */}}
{{- define "training-job.check-claims" -}}
{{- $root := . }}{{ $space := .Release.Namespace }}
{{- $workers := .Values.spec.workers | default dict }}
{{- $ranks := get (include "training-job.launcher" .Values.spec | fromYaml) "runsRanks" }}
{{- $most := get ($workers.elastic | default dict) "maxReplicas" | default 1 }}
{{- $many := or $workers.groups (gt (int ($workers.replicas | default 1)) 1) (gt (int $most) 1) $ranks }}
{{- $found := list }}
{{- range .Values.spec.storage }}
{{- $name := printf "%s-%s" (include "training-job.fullname" $root) .name }}
{{- $claim := .claim }}{{ $mode := ternary "ReadWriteMany" "ReadWriteOnce" (not (empty $many)) }}{{ $fixed := false }}
{{- if .persistentVolume }}
{{- $claim = .persistentVolume }}{{ $mode = "ReadWriteMany" }}{{ $fixed = true }}
{{- else if and .perWorker $ranks }}
{{- $claim = .perWorker }}{{ $mode = "ReadWriteOnce" }}{{ $name = printf "%s-launcher" $name }}
{{- end }}
{{- if $claim }}
{{- with lookup "v1" "PersistentVolumeClaim" $space $name }}
{{- range include "training-job.claim-problems" (list $claim . $mode $fixed) | trim | splitList "\n" | compact }}
{{- $found = append $found (printf "claim %s: %s" $name .) }}
{{- end }}
{{- end }}
{{- end }}
{{- $source := (.persistentVolume | default dict).source }}
{{- if $source }}
{{- with lookup "v1" "PersistentVolume" "" (printf "%s-%s" $space $name) }}
{{- if ne (toJson .spec) (toJson (mergeOverwrite (deepCopy .spec) $source)) }}
{{- $found = append $found (printf "volume %s: it cannot become %s" .metadata.name (toJson $source)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if $found }}
{{- fail (printf "\n\nExisting storage cannot change:\n  %s\nRename the storage entry, or delete the claim or volume with its data.\n" (join "\n  " $found)) }}
{{- end }}
{{- end -}}
