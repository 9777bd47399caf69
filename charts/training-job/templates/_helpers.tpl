{{/* The job's name. The names of all objects begin with it; it is short by default because pod names are longer. */}}
{{- define "training-job.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if .Values.nameOverride -}}
{{ .Release.Name }}-{{ .Values.nameOverride }}
{{- else -}}
{{ .Release.Name }}
{{- end -}}
{{- end -}}

{{/* Labels of the job. khorovod adds them to every object. */}}
{{- define "training-job.labels" -}}
{{- $ours := dict
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" .Chart.AppVersion }}
{{- merge $ours (.Values.commonLabels | default dict) | toYaml }}
{{- end -}}

{{/* Labels of the objects that the chart creates without khorovod: list ROOT COMPONENT. */}}
{{- define "training-job.hook-labels" -}}
{{- $root := index . 0 }}
{{- include "training-job.labels" $root }}
app.kubernetes.io/name: {{ include "training-job.fullname" $root }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Sets `spec.PART.KEY`; fails if it is already set: list SPEC PART KEY VALUE NAME. */}}
{{- define "training-job.put" -}}
{{- $spec := index . 0 }}{{ $part := index . 1 }}{{ $key := index . 2 }}{{ $value := index . 3 }}
{{- if $value }}
{{- $map := get $spec $part | default dict }}
{{- if hasKey $map $key }}
{{- fail (printf "\n\n%s and spec.%s.%s are the same setting: set only one of them\n" (index . 4) $part $key) }}
{{- end }}
{{- $_ := set $map $key $value }}
{{- $_ := set $spec $part $map }}
{{- end }}
{{- end -}}

{{/* Sets `image` of a spec from its parts, or adds the release's pull secrets to an existing one: list ROOT SPEC. */}}
{{- define "training-job.put-image" -}}
{{- $values := (index . 0).Values }}{{ $spec := index . 1 }}
{{- $parts := $values.image }}{{ $global := $values.global }}
{{- $image := dict }}
{{- if $parts.repository }}
{{- if $spec.image }}{{ fail "\n\nimage.repository and spec.image are the same setting: set only one of them\n" }}{{ end }}
{{- $registry := $global.imageRegistry | default $parts.registry }}
{{- $name := list $registry $parts.repository | compact | join "/" }}
{{- $_ := set $image "name" (list $name $parts.tag | compact | join ":") }}
{{- range $key := list "digest" "pullPolicy" "pullSecrets" }}
{{- with get $parts $key }}{{ $_ := set $image $key . }}{{ end }}
{{- end }}
{{- else }}
{{- range $key, $value := $parts }}
{{- if $value }}{{ fail (printf "\n\nimage.%s requires image.repository: it does not apply to spec.image\n" $key) }}{{ end }}
{{- end }}
{{- if $global.imageRegistry }}
{{- fail "\n\nglobal.imageRegistry requires image.repository: it does not apply to spec.image\n" }}
{{- end }}
{{- $given := required "\n\nthe image is missing: set image.repository and image.tag, or spec.image\n" $spec.image }}
{{- $image = ternary $given (dict "name" $given) (kindIs "map" $given) }}
{{- end }}
{{- $secrets := get $image "pullSecrets" | default list }}
{{- range $global.imagePullSecrets }}
{{- $secrets = append $secrets (ternary (get (ternary . dict (kindIs "map" .)) "name") . (kindIs "map" .)) }}
{{- end }}
{{- if $secrets }}{{ $_ := set $image "pullSecrets" (uniq $secrets) }}{{ end }}
{{- $_ := set $spec "image" $image }}
{{- end -}}

{{/* Adds the variables in `extraEnv` to `spec.env`: list ROOT SPEC. */}}
{{- define "training-job.put-env" -}}
{{- $spec := index . 1 }}
{{- $env := $spec.env | default dict }}
{{- range (index . 0).Values.extraEnv }}
{{- if hasKey $env .name }}{{ fail (printf "\n\n%s is set twice, in extraEnv and spec.env or within extraEnv: set it once\n" .name) }}{{ end }}
{{- $value := .value | default "" }}
{{- with .valueFrom }}
{{- $value = . }}
{{- end }}
{{- $_ := set $env .name $value }}
{{- end }}
{{- if $env }}{{ $_ := set $spec "env" $env }}{{ end }}
{{- end -}}

{{/* The field `launcher` of a spec as a map: it may be the name of a program. */}}
{{- define "training-job.launcher" -}}
{{- if kindIs "map" .launcher }}{{ toYaml .launcher }}{{ else }}{{ toYaml (dict "kind" (.launcher | default "mpirun")) }}{{ end }}
{{- end -}}

{{/* The name of the Secret that a hook creates; empty if the user has a Secret, or if the job does not use ssh. */}}
{{- define "training-job.own-secret" -}}
{{- $ssh := .Values.spec.ssh | default dict }}{{ $launcher := include "training-job.launcher" .Values.spec | fromYaml }}
{{- if not (or .Values.existingSecret $ssh.secretName (has $launcher.kind (list "torchrun" "jax" "tensorflow"))) -}}
{{ include "training-job.fullname" . }}-ssh
{{- end -}}
{{- end -}}

{{/* The spec of the TrainingJob: `spec`, merged with the other values. */}}
{{- define "training-job.spec" -}}
{{- $values := .Values }}
{{- $spec := deepCopy ($values.spec | default dict) }}
{{- $_ := required "\n\nspec.workers is missing: set the number of workers and their resources, as in examples/smallest.yaml\n" $spec.workers }}
{{- include "training-job.put-image" (list . $spec) }}
{{- include "training-job.put-env" (list . $spec) }}
{{- include "training-job.put" (list $spec "placement" "nodeSelector" $values.nodeSelector "nodeSelector") }}
{{- include "training-job.put" (list $spec "placement" "tolerations" $values.tolerations "tolerations") }}
{{- include "training-job.put" (list $spec "placement" "affinity" $values.affinity "affinity") }}
{{- include "training-job.put" (list $spec "placement" "priorityClassName" $values.priorityClassName "priorityClassName") }}
{{- include "training-job.put" (list $spec "scheduling" "schedulerName" $values.schedulerName "schedulerName") }}
{{- include "training-job.put" (list $spec "security" "serviceAccountName" ($values.serviceAccount).name "serviceAccount.name") }}
{{- include "training-job.put" (list $spec "ssh" "secretName" $values.existingSecret "existingSecret") }}
{{- include "training-job.put" (list $spec "ssh" "secretName" (include "training-job.own-secret" .) "the Secret that the chart creates") }}
{{- toYaml $spec }}
{{- end -}}
