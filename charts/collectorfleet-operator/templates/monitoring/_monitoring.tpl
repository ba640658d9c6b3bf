{{- /* The chart's labels, and the labels that a Prometheus or Grafana selects by: (list . labels). */}}
{{- define "collectorfleet-operator.monitoringLabels" -}}
{{- merge (include "collectorfleet-operator.labels" (index . 0) | fromYaml) (index . 1) | toYaml }}
{{- end }}
