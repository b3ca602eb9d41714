package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSecretsOfURLsAreHiddenInTexts(t *testing.T) {
	const mark = "s3cretvalue"
	for _, text := range []string{
		"see(https://me:" + mark + "@h/)", `Get "https://me:` + mark + `@h/?k=` + mark + `": refused`, "a=https://me:" + mark + "@h,https://you:" + mark + "@i", "<https://me:" + mark + "@h>", "https://h/#" + mark,
		"https://h/x?a=1;https://me:" + mark + "@i/", "[https://h](https://me:" + mark + "@i/)", "https://h|https://me:" + mark + "@i/", "https://h\u00a0https://me:" + mark + "@i", "//me:" + mark + "@h/", "https:\\/\\/me:" + mark + "@h/", "HTTPS://me:" + mark + "@h", "postgres://me:" + mark + "@h", "https://h/;https://me:" + mark + "@i",
	} {
		if got := Text(text, 1000); strings.Contains(got, mark) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestSecretsInNamesOfMembersAreHidden(t *testing.T) {
	const key = "sk-ant-api03-s3cretvalue0123456789abcdefghij"
	for _, text := range []string{`{"` + key + `":1}`, `{"https://me:s3cretvalue@h/":1}`, `{"name":"Authorization","value":"Basic bWU6czNjcmV0"}`, ` {"password":"s3cretvalue"}`} {
		shown, _ := JSON(json.RawMessage(text), Limits{Text: 1000, Bytes: 1 << 20, Depth: 32})
		if !json.Valid(shown) {
			t.Errorf("%s becomes %s, which is no JSON", text, shown)
		}
		if strings.Contains(string(shown), "s3cretvalue") {
			t.Errorf("%s becomes %s", text, shown)
		}
	}
}

func TestNothingIsNothing(t *testing.T) {
	if shown, whole := JSON(nil, Limits{Text: 10, Bytes: 100, Depth: 3}); len(shown) > 0 || !whole {
		t.Errorf("%q, %v", shown, whole)
	}
}

// Names that are not examined must contain no secret.
func TestOrdinaryNamesAreNoSecrets(t *testing.T) {
	for _, name := range []string{"jsonrpc", "id", "method", "params", "name", "arguments", "_meta", "result", "content", "type", "text", "isError", "structuredContent", "resultType", "version",
		"description", "inputSchema", "properties", "title", "uri",
		"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities",
		"status", "url", "Accept", "Accept-Encoding", "Cache-Control", "Content-Length", "Content-Type", "Date", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "User-Agent"} {
		if !ordinary(name) || Named(name) || Text(name, 100) != name {
			t.Errorf("%s is not ordinary", name)
		}
	}
}
