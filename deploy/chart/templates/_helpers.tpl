{{- define "junction.name" -}}
{{- if contains "junction" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-junction" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "junction.selector" -}}
app.kubernetes.io/name: junction
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "junction.labels" -}}
{{ include "junction.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "junction.image" -}}
{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}

{{- /* Of a server, with a list of the chart's context and the server's name. */ -}}
{{- define "junction.serverLabels" -}}
{{- $ := index . 0 }}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "junction.serverPort" -}}
{{ if .command }}7717{{ else }}{{ .port }}{{ end }}
{{- end }}

{{- define "junction.serverKey" -}}
{{ default (index . 0).Values.serverKey (index . 1).key }}
{{- end }}

{{- define "junction.stateKeys" -}}
{{- $keys := list }}
{{- range .Values.stateKeys.keys }}{{ $keys = append $keys (printf "${file:/run/secrets/junction/%s/%s}" $.Values.stateKeys.secret .) }}{{ end }}
{{- toJson $keys }}
{{- end }}

{{- /* The Secrets with the keys of bridges, each once. */ -}}
{{- define "junction.serverKeys" -}}
{{- $all := list }}
{{- range .Values.servers }}{{ if .command }}{{ $all = append $all (include "junction.serverKey" (list $ .)) }}{{ end }}{{ end }}
{{- toJson (uniq $all | sortAlpha) }}
{{- end }}

{{- /* The configuration of the junction up in the pod of a server that has a command. */ -}}
{{- define "junction.bridgeConfig" -}}
{{- $ := index . 0 }}{{ $server := index . 1 }}{{ $s := index . 2 }}
{{- $host := printf "%s-%s" (include "junction.name" $) $server }}
{{- $hosts := list $host (printf "%s.%s" $host $.Release.Namespace) (printf "%s.%s.svc" $host $.Release.Namespace) (printf "%s.%s.svc.cluster.local" $host $.Release.Namespace) }}
{{- $program := dict "command" (first $s.command) "args" (concat (rest $s.command) (default list $s.args)) "environment" "all" }}
{{- $own := dict "listen" (dict "http" "0.0.0.0:7717" "admin" "0.0.0.0:9464" "adminInsecure" true "hosts" $hosts) "auth" (list "keys") "names" "none" "tools" "all" "tasks" "none" }}
{{- $own = merge $own (dict "drain" (dict "delay" $.Values.drain.delay "time" $.Values.drain.time) "telemetry" (dict "logFormat" "json")) }}
{{- if and $s.isolation (ne $s.isolation "shared") }}
{{- $own = merge $own (dict "authorization" (dict "userHeader" "Junction-User") "servers" (dict $server (dict "isolation" $s.isolation "instances" (default 16 $s.instances)))) }}
{{- end }}
{{- $own = merge $own (dict "stateKeys" (list "${file:/run/secrets/junction/state-key}") "peers" (list (printf "dns+http://%s-peers.%s.svc:7717" $host $.Release.Namespace))) }}
{{- toPrettyJson (dict "mcpServers" (dict $server (merge $program (default dict $s.program))) "junction" $own) }}
{{- end }}

{{- /* The configuration: that of the values, the servers of the chart, stateKeys and peers. */ -}}
{{- define "junction.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $name := include "junction.name" . }}
{{- $servers := default dict $config.mcpServers }}
{{- range $server, $s := .Values.servers }}
{{- $own := dict "url" (printf "http://%s-%s:%s%s" $name $server (include "junction.serverPort" $s) (default "/mcp" $s.path)) }}
{{- if $s.command }}
{{- $own = set $own "headers" (merge (dict "Authorization" (printf "Bearer ${file:/run/secrets/junction/%s/key}" (include "junction.serverKey" (list $ $s)))) (dig "headers" dict (default dict $s.entry))) }}
{{- end }}
{{- if and $s.isolation (ne $s.isolation "shared") }}
{{- if eq $.Values.auth.mode "none" }}{{ fail (printf "servers.%s.isolation needs users: set auth.mode" $server) }}{{ end }}
{{- $own = set $own "userHeader" "Junction-User" }}
{{- end }}
{{- $servers = set $servers $server (merge $own (default dict $s.entry)) }}
{{- end }}
{{- $own := default dict $config.junction }}
{{- if not $own.stateKeys }}{{ $own = set $own "stateKeys" (include "junction.stateKeys" $ | fromJsonArray) }}{{ end }}
{{- if and (not $own.peers) (not .Values.tls.secret) }}{{ $own = set $own "peers" (list (printf "dns+http://%s-peers.%s.svc:7717" $name .Release.Namespace)) }}{{ end }}
{{- if and (not $own.tasks) (not $own.state) (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) }}{{ $own = set $own "tasks" "none" }}{{ end }}
{{- toPrettyJson (merge (dict "mcpServers" $servers "junction" $own) $config) }}
{{- end }}
