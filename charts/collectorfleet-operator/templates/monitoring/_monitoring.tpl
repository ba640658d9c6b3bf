{{- /* The chart's labels and those that somebody's Prometheus or Grafana looks for: (list . labels). */}}
{{- define "collectorfleet-operator.monitoringLabels" -}}
{{- merge (include "collectorfleet-operator.labels" (index . 0) | fromYaml) (index . 1) | toYaml }}
{{- end }}
