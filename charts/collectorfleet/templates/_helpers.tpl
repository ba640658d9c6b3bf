{{/* Name of the fleet. The chart checks the API server's rules for names before Helm sends anything. */}}
{{- define "collectorfleet.name" -}}
{{- $name := .Values.fullnameOverride | default .Release.Name -}}
{{- $where := "release name" -}}
{{- if .Values.fullnameOverride }}{{ $where = "fullnameOverride" }}{{ end -}}
{{- if gt (len $name) 50 -}}
{{- fail (printf "%s: %d characters are too many for the Ray cluster, which has the same name; use at most 50" $where (len $name)) -}}
{{- else if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "%s: %q is not a valid name for the fleet's Services; use lower-case letters, digits and '-', starting with a letter and not ending in '-'" $where $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* Name of the ConfigMap. Changed content changes the name, and so the spec. */}}
{{- define "collectorfleet.codeName" -}}
{{- range $file, $text := .Values.code -}}
{{- if not (kindIs "string" $text) -}}
{{- fail (printf "code.%s: %s is not the text of a file; give each file as text; with --set-file, escape the dot: --set-file 'code.train\\.py=train.py'" $file (kindOf $text)) -}}
{{- end -}}
{{- end -}}
{{- printf "%s-code-%s" (include "collectorfleet.name" .) (.Values.code | toJson | sha256sum | trunc 10) -}}
{{- end -}}

{{/* Labels of an object: (list $ component). The chart's labels win, because commands of the documentation select by them. */}}
{{- define "collectorfleet.labels" -}}
{{- $root := index . 0 -}}
{{- $ours := dict
    "app.kubernetes.io/name" "collectorfleet"
    "app.kubernetes.io/component" (index . 1)
    "app.kubernetes.io/instance" $root.Release.Name
    "app.kubernetes.io/version" $root.Chart.AppVersion
    "app.kubernetes.io/managed-by" $root.Release.Service
    "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63)
-}}
{{- toYaml (mergeOverwrite (deepCopy $root.Values.labels) $ours) -}}
{{- end -}}
