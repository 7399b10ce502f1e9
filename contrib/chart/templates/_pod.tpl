{{- define "freshet.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "freshet.labels" -}}
app.kubernetes.io/name: freshet
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "freshet.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "freshet.container" -}}
resources: {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "freshet.volume" -}}
{{- $storage := (last .).Values.storage -}}
accessModes: [{{ first . }}]
{{- with $storage.className }}
storageClassName: {{ . }}
{{- end }}
resources: {requests: {storage: {{ $storage.size }}}}
{{- end }}
