{{- /* The chart's labels, and the labels by which Prometheus or Grafana selects the object: (list . labels). */}}
{{- define "collectorfleet-operator.monitoringLabels" -}}
{{- merge (include "collectorfleet-operator.labels" (index . 0) | fromYaml) (index . 1) | toYaml }}
{{- end }}
