{{- /* The rights of the operator, in the whole cluster or in each namespace that the operator serves. */}}
{{- define "collectorfleet-operator.rules" -}}
# The operator grants each driver the rights to get its fleet and to patch the fleet's status. Kubernetes lets an
# account grant only rights that the account has.
- apiGroups: [collectorfleet.dev]
  resources: [collectorfleets]
  verbs: [get, list, watch]
- apiGroups: [collectorfleet.dev]
  resources: [collectorfleets/status]
  verbs: [patch]
# The operator's owner references block the owner's deletion. If the admission plugin
# OwnerReferencesPermissionEnforcement is on, such references need this right.
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
  # The operator deletes pods on lost nodes, pods of hung drivers, and pods that still run after their driver or their
  # Ray head has ended.
  verbs: [list, watch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
# The operator creates the ConfigMap of each timeline, and the driver writes its data. The operator also reads the
# ConfigMap with the code of a failed fleet, because changed code starts another try.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch]
# For fleets with spec.networkPolicy.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, create, patch, delete]
# For fleets with launcher Job. Through the Service, the collector pods find the driver. The Secret contains the token
# that the driver and the collector pods share. The operator creates the Secret, but never reads, changes or deletes it.
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
# The operator reports to Kueue that a fleet's pods are ready, and that an evicted fleet has given its quota back.
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status]
  verbs: [patch]
{{- end }}
{{- end }}
