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

{{- /* The configuration: that of the values, the servers of the chart, stateKeys and peers. */ -}}
{{- define "junction.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $name := include "junction.name" . }}
{{- $servers := default dict $config.mcpServers }}
{{- range $server, $s := .Values.servers }}
{{- $url := printf "http://%s-%s:%v%s" $name $server $s.port (default "/mcp" $s.path) }}
{{- $servers = set $servers $server (merge (dict "url" $url) (default dict $s.entry)) }}
{{- end }}
{{- $own := default dict $config.junction }}
{{- $keys := list }}
{{- range .Values.stateKeys.keys }}{{ $keys = append $keys (printf "${file:/run/secrets/junction/%s/%s}" $.Values.stateKeys.secret .) }}{{ end }}
{{- if not $own.stateKeys }}{{ $own = set $own "stateKeys" $keys }}{{ end }}
{{- if and (not $own.peers) (not .Values.tls.secret) }}{{ $own = set $own "peers" (list (printf "dns+http://%s-peers.%s.svc:7717" $name .Release.Namespace)) }}{{ end }}
{{- toPrettyJson (merge (dict "mcpServers" $servers "junction" $own) $config) }}
{{- end }}
