{{/* The pod of a hook without its containers and volumes; meets Pod Security's `restricted` level: list ROOT SPEC. */}}
{{- define "training-job.hook-pod" -}}
{{- $spec := index . 1 }}{{ $place := $spec.placement | default dict -}}
restartPolicy: Never
enableServiceLinks: false
{{- with $spec.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $place.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $place.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $place.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- if not (include "training-job.any-user" $spec) }}
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* The common part of the hooks' containers: the job's image, and a name for its user, which ssh requires: list ROOT SPEC
     ENV. */}}
{{- define "training-job.hook-container" -}}
{{- $spec := index . 1 }}{{ $image := $spec.image -}}
image: {{ get (include "training-job.launcher" $spec | fromYaml) "image" | default (list $image.name $image.digest | compact | join "@") }}
{{- with $image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
env:
  # Uses no GPU. Without this variable, CUDA images see every GPU of the node.
  - {name: NVIDIA_VISIBLE_DEVICES, value: void}
  {{- range $name, $value := index . 2 }}
  - {name: {{ $name }}, value: {{ $value | toString | quote }}}
  {{- end }}
{{- with ((index . 0).Values.hooks).resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - {name: files, mountPath: /files, readOnly: true}
  - {name: tmp, mountPath: /tmp}
  {{- if not (include "training-job.any-user" $spec) }}
  - {name: files, mountPath: /etc/passwd, subPath: passwd, readOnly: true}
  {{- end }}
{{- end -}}

{{/* Not empty if the platform chooses the user: OpenShift also adds the user to the image's /etc/passwd. */}}
{{- define "training-job.any-user" -}}
{{- if eq (get (.security | default dict) "podSecurityLevel" | default "") "openshift" }}yes{{ end }}
{{- end -}}

{{- define "training-job.passwd" -}}
passwd: |
  root:x:0:0:root:/root:/bin/bash
  khorovod:x:65532:65532::/tmp:/bin/bash
{{- end -}}

{{/* Annotations of a hook: list ROOT EVENTS WEIGHT POLICY. */}}
{{- define "training-job.hook" -}}
{{- with (index . 0).Values.commonAnnotations }}{{ toYaml . }}
{{ end -}}
helm.sh/hook: {{ index . 1 }}
helm.sh/hook-weight: {{ index . 2 | quote }}
helm.sh/hook-delete-policy: {{ index . 3 }}
{{- end -}}
