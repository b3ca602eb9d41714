package redact

import (
	"net/textproto"
	"strings"
)

// Header returns the value of an HTTP header without possible secrets. It returns [Hidden] for a
// header that is not known to be harmless.
func Header(name, value string) string {
	switch {
	case IsPlainHeader(name):
		return value // apparent secrets in such a value are hidden later, as in all texts
	case isHeader(name, "Mcp-Name"), isHeader(name, "Location"), isHeader(name, "Content-Location"):
		return URI(value)
	case isHeader(name, "Www-Authenticate"): // the header tells clients where and why to log in
		parts := strings.Split(value, `"`)
		for i := 1; i < len(parts); i += 2 {
			parts[i] = Text(parts[i], len(parts[i]))
		}
		return strings.Join(parts, `"`)
	}
	return Hidden
}

func isHeader(name, canonical string) bool {
	return name == canonical || len(name) == len(canonical) && strings.EqualFold(name, canonical)
}

// IsPlainHeader reports whether an HTTP header never contains secrets.
func IsPlainHeader(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Accept-Language", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Allow",
		"Cache-Control", "Connection", "Content-Encoding", "Content-Language", "Content-Length", "Content-Type", "Date", "Expires", "Host", "Last-Event-Id", "Last-Modified", "Mcp-Method",
		"Mcp-Protocol-Version", "Origin", "Pragma", "Retry-After", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Server", "Strict-Transport-Security", "Traceparent", "Tracestate",
		"Transfer-Encoding", "User-Agent", "Vary", "Via", "X-Accel-Buffering", "X-Content-Type-Options":
		return true
	}
	if canonical := textproto.CanonicalMIMEHeaderKey(name); canonical != name {
		return IsPlainHeader(canonical)
	}
	argument, is := strings.CutPrefix(name, "Mcp-Param-")
	return is && !Named(argument)
}
