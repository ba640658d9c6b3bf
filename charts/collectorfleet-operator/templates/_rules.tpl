{{- /* The operator's rights, in the whole cluster or in each namespace that it serves. */}}
{{- define "collectorfleet-operator.rules" -}}
# The operator grants drivers get on fleets and patch on their status, and can grant only rights that it has.
- apiGroups: [collectorfleet.dev]
  resources: [collectorfleets]
  verbs: [get, list, watch]
- apiGroups: [collectorfleet.dev]
  resources: [collectorfleets/status]
  verbs: [patch]
# For owner references with blockOwnerDeletion, if the admission plugin OwnerReferencesPermissionEnforcement is on.
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
  # The operator deletes pods that hang on a lost node.
  verbs: [list, watch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
# The operator creates the ConfigMaps of timelines, which drivers fill. It reads the code of failed fleets by name,
# because changed code starts a retry.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch]
# For fleets with spec.networkPolicy.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, create, patch, delete]
# For fleets with launcher Job. Hosts of collectors find the driver by its Service, and share the token in the Secret.
# The operator creates the Secret, but cannot read, change or delete a Secret.
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
# After Kueue has taken back the quota and the pods are gone, the operator clears the Workload's admission.
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status]
  verbs: [patch]
{{- end }}
{{- end }}
