{{/* Names, labels, and what every value is checked for beyond its schema. */}}

{{- define "yodel.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "yodel.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "yodel.labels" -}}
{{ include "yodel.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Of the node agents and of containers' pods. */}}
{{- define "yodel.containerNamespace" -}}
{{- default .Release.Namespace .Values.containers.namespace -}}
{{- end -}}

{{- define "yodel.resourceManager.serviceAccountName" -}}
{{- if .Values.resourceManager.serviceAccount.create -}}
{{- default (printf "%s-rm" (include "yodel.fullname" .)) .Values.resourceManager.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.resourceManager.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "yodel.nodeAgent.serviceAccountName" -}}
{{- if .Values.nodeAgent.serviceAccount.create -}}
{{- default (printf "%s-node-agent" (include "yodel.fullname" .)) .Values.nodeAgent.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.nodeAgent.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Where pods and node agents reach the ResourceManager. */}}
{{- define "yodel.serviceHost" -}}
{{- printf "%s.%s.svc" (include "yodel.fullname" .) .Release.Namespace -}}
{{- end -}}

{{- define "yodel.resourceManagerHost" -}}
{{- default (include "yodel.serviceHost" .) .Values.nodeAgent.resourceManagerHost -}}
{{- end -}}

{{/* host:port whose address the web proxy calls from: the pod's own, by the headless Service (decision 0033). */}}
{{- define "yodel.webProxy" -}}
{{- if .Values.nodeAgent.resourceManagerHost -}}
{{- printf "%s:%d" .Values.nodeAgent.resourceManagerHost (int .Values.service.ports.webapp) -}}
{{- else -}}
{{- printf "%s-pods.%s.svc:%d" (include "yodel.fullname" .) .Release.Namespace (int .Values.service.ports.webapp) -}}
{{- end -}}
{{- end -}}

{{/* The port of applications' pages where they have an origin of their own, else nothing. */}}
{{- define "yodel.proxiedPort" -}}
{{- $given := default (dict) (get .Values.resourceManager.settings "web") -}}
{{- $origin := default .Values.web.proxiedOrigin $given.proxied_origin -}}
{{- $authentication := default (ternary "kerberos" "simple" (ne .Values.kerberos.keytabSecret "")) $given.authentication -}}
{{- if or (eq $origin "own") (and (eq $origin "auto") (ne $authentication "simple")) -}}
{{- $port := int (default .Values.service.ports.proxied $given.proxied_port) -}}
{{- if ne $port (int .Values.service.ports.webapp) -}}{{ $port }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "yodel.nodeTokenSecret" -}}
{{- default (printf "%s-node-token" (include "yodel.fullname" .)) .Values.nodeToken.existingSecret -}}
{{- end -}}

{{- define "yodel.adminTokenSecret" -}}
{{- default (printf "%s-admin-token" (include "yodel.fullname" .)) .Values.colocation.adminTokenSecret -}}
{{- end -}}

{{- define "yodel.databaseSecret" -}}
{{- default (printf "%s-database" (include "yodel.fullname" .)) .Values.database.existingSecret -}}
{{- end -}}

{{- define "yodel.databaseUrlKey" -}}
{{- if .Values.database.existingSecret -}}{{ .Values.database.urlKey }}{{- else -}}url{{- end -}}
{{- end -}}

{{- define "yodel.usersConfigMap" -}}
{{- if .Values.users.existingConfigMap -}}
{{- .Values.users.existingConfigMap -}}
{{- else if or .Values.users.accounts .Values.users.groups -}}
{{- printf "%s-users" (include "yodel.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* Call with (dict "image" .Values.images.x "root" $). */}}
{{- define "yodel.image" -}}
{{- printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) -}}
{{- end -}}

{{- define "yodel.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Of pods that need nothing of their node: the Pod Security level "restricted". Call with (dict "id" uid). */}}
{{- define "yodel.restrictedPod" -}}
runAsNonRoot: true
runAsUser: {{ int .id }}
runAsGroup: {{ int .id }}
fsGroup: {{ int .id }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "yodel.restrictedContainer" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* One TOML value: JSON's scalars are TOML's; maps become inline tables. */}}
{{- define "yodel.tomlValue" -}}
{{- if kindIs "map" . -}}
{{- $pairs := list -}}
{{- range $name, $value := . -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $pairs = append $pairs (printf "%s = %s" (toJson $name) (include "yodel.tomlValue" $value)) -}}
{{- end -}}
{{- end -}}
{{- printf "{%s}" (join ", " $pairs) -}}
{{- else if kindIs "slice" . -}}
{{- $items := list -}}
{{- range . -}}
{{- $items = append $items (include "yodel.tomlValue" .) -}}
{{- end -}}
{{- printf "[%s]" (join ", " $items) -}}
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end -}}

{{- define "yodel.toml" -}}
{{- range $name, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{ $name }} = {{ include "yodel.tomlValue" $value }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Fields of yodel/settings/rm.py; the database's URL comes from the environment. */}}
{{- define "yodel.rmToml" -}}
{{- $values := .Values -}}
{{- $ports := $values.service.ports -}}
{{- $settings := dict
  "namespace" (include "yodel.containerNamespace" .)
  "cluster_name" $values.clusterName
  "host" (default (include "yodel.serviceHost" .) $values.resourceManager.publicHost)
  "client_port" (int $ports.client)
  "scheduler_port" (int $ports.scheduler)
  "tracker_port" (int $ports.tracker)
  "admin_port" (int $ports.admin)
  "webapp_port" (int $ports.webapp)
  "probe_port" (int $values.resourceManager.probePort)
  "image" (default (printf "yodel/hadoop-runtime:%s" .Chart.AppVersion) $values.containers.image)
  "host_network" $values.containers.hostNetwork
  "dialect" $values.containers.dialect
  "scheduler_name" $values.containers.schedulerName
  "handover_dir" $values.hostPaths.handover
  "host_paths" (concat $values.hostPaths.local $values.hostPaths.logs (list $values.hostPaths.hadoopConf))
  "user_mode" "os"
  "min_user_id" (int $values.users.minUserId)
  "allowed_system_users" $values.users.allowedSystemUsers
  "node_token_file" "/etc/yodel/secrets/node-token"
  "log_aggregation_enable" (ne $values.hadoop.remoteAppLogDir "")
  "watch_nodes" $values.rbac.nodes
  "pod_events" $values.rbac.podEvents
  "application_objects" $values.rbac.applicationObjects
-}}
{{- $web := dict
  "proxied_origin" $values.web.proxiedOrigin
  "proxied_port" (int $ports.proxied)
  "proxied_address" $values.web.proxiedAddress
  "host_names" $values.web.hostNames
-}}
{{- if $values.networkPolicy.enabled -}}
{{- $networks := list "127.0.0.0/8" "::1/128" -}}
{{- range $values.networkPolicy.admins -}}
{{- with .ipBlock -}}
{{- if not .except -}}
{{- $networks = append $networks .cidr -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $web = set $web "admin_networks" $networks -}}
{{- end -}}
{{- if $values.colocation.enabled -}}
{{- $web = set $web "admin_token_file" "/etc/yodel/administration/admin-token" -}}
{{- end -}}
{{- with $values.kerberos -}}
{{- if .keytabSecret -}}
{{- $web = set $web "authentication" "kerberos" -}}
{{- $security := dict "authentication" "kerberos" "principal" .principal "keytab" "/etc/yodel/kerberos/rm.keytab" -}}
{{- $settings = set $settings "security" $security -}}
{{- end -}}
{{- end -}}
{{- $settings = set $settings "web" $web -}}
{{- $queues := dict -}}
{{- /* A dialect's own class is for the engine that made it, which is not there where Yodel lends by itself. */ -}}
{{- if and $values.priorityClasses.use (or $values.colocation.enabled (has $values.containers.dialect (list "native" "katalyst" "volcano"))) -}}
{{- $queues = merge $queues (dict "priority_class_am" $values.priorityClasses.am.name "priority_class_task" $values.priorityClasses.task.name) -}}
{{- end -}}
{{- if $values.imagePullSecrets -}}
{{- $queues = set $queues "image_pull_secrets" $values.imagePullSecrets -}}
{{- end -}}
{{- with include "yodel.usersConfigMap" . -}}
{{- $passwd := dict "name" "users" "mountPath" "/etc/passwd" "subPath" "passwd" "readOnly" true -}}
{{- $group := dict "name" "users" "mountPath" "/etc/group" "subPath" "group" "readOnly" true -}}
{{- $main := dict "name" "main" "volumeMounts" (list $passwd $group) -}}
{{- $volume := dict "name" "users" "configMap" (dict "name" .) -}}
{{- $queues = set $queues "pod_template" (dict "spec" (dict "containers" (list $main) "volumes" (list $volume))) -}}
{{- end -}}
{{- if $queues -}}
{{- $settings = set $settings "queue_defaults" $queues -}}
{{- end -}}
{{- include "yodel.toml" (mergeOverwrite $settings (deepCopy $values.resourceManager.settings)) | trim -}}
{{- end -}}

{{/* Fields of nm_plugin/settings.py; what differs from node to node comes from the environment. */}}
{{- define "yodel.nmToml" -}}
{{- $values := .Values -}}
{{- $settings := dict
  "rpc_port" (int $values.nodeAgent.ports.rpc)
  "http_port" (int $values.nodeAgent.ports.http)
  "shuffle_port" (int $values.nodeAgent.ports.shuffle)
  "probe_port" (int $values.nodeAgent.ports.probes)
  "resource_tracker_host" (include "yodel.resourceManagerHost" .)
  "resource_tracker_port" (int $values.service.ports.tracker)
  "node_token_file" "/etc/yodel/secrets/node-token"
  "local_dirs" $values.hostPaths.local
  "log_dirs" $values.hostPaths.logs
  "handover_dir" $values.hostPaths.handover
  "state_dir" $values.hostPaths.state
  "hadoop_conf_dir" $values.hostPaths.hadoopConf
  "java_home" $values.nodeAgent.javaHome
  "user_mode" "os"
  "min_user_id" (int $values.users.minUserId)
  "allowed_system_users" $values.users.allowedSystemUsers
  "log_aggregation_enable" (ne $values.hadoop.remoteAppLogDir "")
-}}
{{- if $values.hadoop.remoteAppLogDir -}}
{{- $settings = set $settings "remote_app_log_dir" $values.hadoop.remoteAppLogDir -}}
{{- end -}}
{{- with $values.nodeAgent.addressCidr -}}
{{- $settings = set $settings "host_cidr" . -}}
{{- end -}}
{{- if $values.networkPolicy.enabled -}}
{{- $closed := concat (list "0.0.0.0/8" "127.0.0.0/8" "169.254.0.0/16" "::/127" "fe80::/10") $values.networkPolicy.metadataCidrs -}}
{{- $settings = set $settings "fetch_closed_networks" $closed -}}
{{- end -}}
{{- if eq $values.nodeAgent.capacity "fixed" -}}
{{- $settings = set $settings "memory_mib" (int $values.nodeAgent.memoryMib) -}}
{{- $settings = set $settings "vcores" (int $values.nodeAgent.vcores) -}}
{{- end -}}
{{- include "yodel.toml" (mergeOverwrite $settings (deepCopy $values.nodeAgent.settings)) | trim -}}
{{- end -}}

{{/* Called once, by the ResourceManager's Deployment. */}}
{{- define "yodel.validate" -}}
{{- if gt (int .Values.resourceManager.replicas) 1 -}}
{{- if and .Values.database.url (not (hasPrefix "postgresql+asyncpg://" .Values.database.url)) -}}
{{- fail "resourceManager.replicas: a standby needs the leader's database; expected a database.url of postgresql+asyncpg, or 1" -}}
{{- end -}}
{{- if eq .Values.external.type "HostPort" -}}
{{- fail "resourceManager.replicas: with external.type HostPort clients use one node, and a standby runs on another; expected 1" -}}
{{- end -}}
{{- end -}}
{{- if not (or .Values.database.existingSecret .Values.database.url .Values.postgres.enabled) -}}
{{- fail "a database is needed: set its Secret (database.existingSecret) or its URL (database.url), or evaluate with postgres.enabled=true" -}}
{{- end -}}
{{- if and .Values.database.url (or .Values.database.existingSecret .Values.postgres.enabled) -}}
{{- fail "database.url cannot be combined with database.existingSecret or postgres.enabled" -}}
{{- end -}}
{{- if and .Values.containers.createNamespace (eq (include "yodel.containerNamespace" .) .Release.Namespace) -}}
{{- fail "containers.createNamespace: set containers.namespace to a namespace other than the release's" -}}
{{- end -}}
{{- if and .Values.nodeAgent.addressCidr .Values.nodeAgent.bindToHostIP -}}
{{- fail "nodeAgent: addressCidr selects another address than hostIP, so it cannot be combined with bindToHostIP" -}}
{{- end -}}
{{- $limits := default (dict) .Values.nodeAgent.resources.limits -}}
{{- if and (eq .Values.nodeAgent.capacity "allocatable") (or (hasKey $limits "cpu") (hasKey $limits "memory")) -}}
{{- fail "nodeAgent.resources.limits: with capacity allocatable, limits of cpu and memory would be taken for the node's size; set nodeAgent.capacity to fixed, with memoryMib and vcores, or set no limits" -}}
{{- end -}}
{{- if and .Values.colocation.enabled (not .Values.rbac.nodes) -}}
{{- fail "colocation.enabled: publishing lent capacity needs the right to list nodes; expected rbac.nodes true" -}}
{{- end -}}
{{- if and .Values.colocation.enforce (not .Values.colocation.enabled) -}}
{{- fail "colocation.enforce: there is nothing to limit without colocation; expected colocation.enabled true" -}}
{{- end -}}
{{- if and .Values.nodeToken.value .Values.nodeToken.existingSecret -}}
{{- fail "nodeToken: expected value or existingSecret, not both" -}}
{{- end -}}
{{- if and .Values.nodeToken.value (lt (len .Values.nodeToken.value) 16) -}}
{{- fail "nodeToken.value: expected at least 16 characters" -}}
{{- end -}}
{{- if and .Values.kerberos.keytabSecret (or (not .Values.kerberos.principal) (not .Values.kerberos.krb5ConfigMap)) -}}
{{- fail "kerberos: with keytabSecret, expected principal and krb5ConfigMap too" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.networkPolicy.clients .Values.containers.hostNetwork (not .Values.networkPolicy.nodeCidrs) -}}
{{- fail "networkPolicy.clients: ApplicationMasters call from their nodes' addresses; list these in networkPolicy.nodeCidrs" -}}
{{- end -}}
{{- if and .Values.rbac.nodeStatus (not .Values.rbac.nodes) -}}
{{- fail "rbac.nodeStatus: lent capacity is published only with rbac.nodes" -}}
{{- end -}}
{{- if and .Values.rbac.allPods (not .Values.rbac.nodes) -}}
{{- fail "rbac.allPods: what pods use of their nodes counts only with rbac.nodes" -}}
{{- end -}}
{{- with .Values.resourceManager.settings -}}
{{- range prepend (values (default (dict) .queue_settings)) (default (dict) .queue_defaults) -}}
{{- if and (eq (default "" .placement) "bind") (not $.Values.rbac.allPods) -}}
{{- fail "resourceManager.settings: placement bind needs rbac.allPods" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.users.accounts -}}
{{- if and (lt (int .uid) (int $.Values.users.minUserId)) (not (has .name $.Values.users.allowedSystemUsers)) -}}
{{- fail (printf "users.accounts: %s has uid %d, below users.minUserId, and is not in users.allowedSystemUsers" .name (int .uid)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
