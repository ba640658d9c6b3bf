{{- define "collectorfleet-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "collectorfleet-operator.fullname" -}}
{{- $name := include "collectorfleet-operator.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "collectorfleet-operator.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "collectorfleet-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "collectorfleet-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "collectorfleet-operator.labels" -}}
{{ include "collectorfleet-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "collectorfleet-operator.image" -}}
{{- with .Values.image }}
{{- $name := printf "%s/%s" .registry .repository }}
{{- if .digest }}
{{- printf "%s@%s" $name .digest }}
{{- else }}
{{- printf "%s:%s" $name (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "collectorfleet-operator.serviceAccountName" -}}
{{- if or .Values.serviceAccount.create .Values.serviceAccount.name }}
{{- default (include "collectorfleet-operator.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- /* Other pods of the namespace use its default account, too. */}}
{{- fail "serviceAccount.name: is empty while serviceAccount.create is false; name the ServiceAccount to use" }}
{{- end }}
{{- end }}

{{- /* The chart refuses arguments that need other rights, another Lease or other probes. */}}
{{- define "collectorfleet-operator.arguments" -}}
- --lease={{ include "collectorfleet-operator.namespace" . }}/{{ include "collectorfleet-operator.fullname" . }}
{{- range .Values.watchNamespaces }}
- --namespace={{ . }}
{{- end }}
{{- if .Values.kueue.enabled }}
- --queues
{{- end }}
{{- range .Values.propagate.labels }}
- {{ printf "--propagate-label=%s" . | quote }}
{{- end }}
{{- range .Values.propagate.annotations }}
- {{ printf "--propagate-annotation=%s" . | quote }}
{{- end }}
{{- range .Values.extraArgs }}
{{- if hasPrefix "--namespace" . }}
{{- fail (printf "extraArgs: %s needs rights in that namespace, too; name the namespace in watchNamespaces instead" .) }}
{{- else if hasPrefix "--lease" . }}
{{- fail (printf "extraArgs: %s would let several pods serve at once; leave this argument out" .) }}
{{- else if hasPrefix "--queues" . }}
{{- fail (printf "extraArgs: %s needs further rights; set kueue.enabled instead" .) }}
{{- else if hasPrefix "--health-port" . }}
{{- fail (printf "extraArgs: %s changes the port that the probes use; leave this argument out" .) }}
{{- end }}
- {{ . | quote }}
{{- end }}
{{- end }}
