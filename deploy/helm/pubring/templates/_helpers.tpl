{{- define "pubring.name" -}}
{{- if contains "pubring" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-pubring{{ end -}}
{{- end }}

{{- define "pubring.selector" -}}
app.kubernetes.io/name: pubring
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pubring.labels" -}}
{{ include "pubring.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* The pod, the same for both engines. The URL of the database has no password. */ -}}
{{- define "pubring.pod" -}}
metadata:
  labels:
    {{- include "pubring.labels" . | nindent 4 }}
spec:
  automountServiceAccountToken: false
  # Otherwise Kubernetes sets PUBRING_PORT to the address of the Service.
  enableServiceLinks: false
  # More than PUBRING_SHUTDOWN_GRACE and the wait before it.
  terminationGracePeriodSeconds: 30
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    seccompProfile:
      type: RuntimeDefault
  {{- if .Values.postgres.url }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "pubring.selector" . | nindent 10 }}
  {{- end }}
  containers:
    - name: pubring
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      env:
        - name: PUBRING_PUBLIC_URL
          value: {{ required "Set publicUrl to the address that verifiers use." .Values.publicUrl | quote }}
        - name: PUBRING_DATABASE_URL
          value: {{ .Values.postgres.url | default "sqlite:/data/pubring.db" | quote }}
        - name: PUBRING_METRICS_PORT
          value: "0.0.0.0:9464"
        {{- if .Values.postgres.passwordSecret.name }}
        - name: PUBRING_DATABASE_PASSWORD_FILE
          value: /run/secrets/database/{{ .Values.postgres.passwordSecret.key }}
        {{- end }}
        {{- if .Values.adminApiKeySecret.name }}
        - name: PUBRING_ADMIN_API_KEY_FILE
          value: /run/secrets/admin/{{ .Values.adminApiKeySecret.key }}
        {{- end }}
        {{- if .Values.log.keySecret.name }}
        - name: PUBRING_LOG_KEY_FILE
          value: /run/secrets/log/{{ .Values.log.keySecret.key }}
        - name: PUBRING_LOG_STATE_FILE
          value: {{ if .Values.postgres.url }}/log-state{{ else }}/data{{ end }}/pubring.checkpoints
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      ports:
        - name: http
          containerPort: 8080
        - name: metrics
          containerPort: 9464
      # A long migration must not count as a failure.
      startupProbe:
        httpGet: { path: /health/live, port: http }
        periodSeconds: 2
        failureThreshold: 300
      # Only a process that does not respond is restarted: without a database it serves key sets.
      livenessProbe:
        httpGet: { path: /health/live, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
      readinessProbe:
        httpGet: { path: /health/ready, port: http }
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        # Proxies stop sending requests to the pod before it shuts down.
        preStop:
          sleep:
            seconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- if not .Values.postgres.url }}
        - name: data
          mountPath: /data
        {{- end }}
        {{- if .Values.postgres.passwordSecret.name }}
        - name: database-password
          mountPath: /run/secrets/database
          readOnly: true
        {{- end }}
        {{- if .Values.adminApiKeySecret.name }}
        - name: admin-api-key
          mountPath: /run/secrets/admin
          readOnly: true
        {{- end }}
        {{- if .Values.log.keySecret.name }}
        - name: log-key
          mountPath: /run/secrets/log
          readOnly: true
        {{- if .Values.postgres.url }}
        - name: log-state
          mountPath: /log-state
        {{- end }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if .Values.postgres.passwordSecret.name }}
    - name: database-password
      secret:
        secretName: {{ .Values.postgres.passwordSecret.name }}
        defaultMode: 0440
    {{- end }}
    {{- if .Values.adminApiKeySecret.name }}
    - name: admin-api-key
      secret:
        secretName: {{ .Values.adminApiKeySecret.name }}
        defaultMode: 0440
    {{- end }}
    {{- if .Values.log.keySecret.name }}
    - name: log-key
      secret:
        secretName: {{ .Values.log.keySecret.name }}
        defaultMode: 0440
    {{- if .Values.postgres.url }}
    - name: log-state
      persistentVolumeClaim:
        claimName: {{ required "Set log.stateClaim to a claim for the signed checkpoints of the log." .Values.log.stateClaim }}
    {{- end }}
    {{- end }}
{{- end }}
