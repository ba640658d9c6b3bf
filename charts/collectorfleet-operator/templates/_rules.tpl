{{- /* What the operator may do, in the whole cluster or in each namespace that it serves. */}}
{{- define "collectorfleet-operator.rules" -}}
# get and patch of status are also what a driver gets: nobody can grant what they do not hold.
- apiGroups: [collectorfleet.dev]
  resources: [collectorfleets]
  verbs: [get, list, watch]
- apiGroups: [collectorfleet.dev]
  resources: [collectorfleets/status]
  verbs: [patch]
# For owner references that block the owner's deletion, where the admission plugin that asks for it is on.
- apiGroups: [collectorfleet.dev]
  resources: [collectorfleets/finalizers]
  verbs: [update]
- apiGroups: [ray.io]
  resources: [rayclusters]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  # To give up those that hang on a node that is lost.
  verbs: [list, watch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
# Those with timelines, which drivers fill; by name, the code of fleets that failed, because mended code is another try.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch]
# Of fleets with spec.networkPolicy.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, create, patch, delete]
# Of fleets with launcher Job: where hosts of collectors find the driver, and the token that they share. The operator
# makes such a Secret, and reads, changes and deletes none.
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, create, patch, delete]
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, list, create, patch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, list, watch, create, patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, create, patch]
{{- if .Values.kueue.enabled }}
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [get, list, watch, create, patch, delete]
# To say that nothing uses the quota any more that Kueue takes back.
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status]
  verbs: [patch]
{{- end }}
{{- end }}
