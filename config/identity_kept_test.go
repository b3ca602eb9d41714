//go:build unix

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheIdentityOfAnEntryIsThatOfEarlierVersions checks texts and hashes that are stored on disk
// for consents and locks. They must be the same in each version.
func TestTheIdentityOfAnEntryIsThatOfEarlierVersions(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "a.env"), []byte("A=1\nB='two words'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const inputs = `,"inputs":[{"id":"key","type":"promptString","default":"d"},{"id":"region","type":"pickString","options":["eu",{"label":"US","value":"us"}]}]`
	for _, test := range []struct{ path, entry, hash, text string }{
		{"/srv/mcp.json", `{"command":"npx","args":["-y","weather-mcp"]}`,
			"", `a (stdio): npx -y weather-mcp []`},
		{"/srv/mcp.json", `{"command":"npx","args":["--token","sesame"]}`,
			"5e9cf1096b3612876fa716dc0a816e32", `a (stdio): npx --token *** []`},
		{"/srv/mcp.json", `{"command":"bin/run","args":["${A:-b}"]}`,
			"9615077ed4fdee205499db61f24f54af", `a (stdio): bin/run ${A:-***} [A]`},
		{"/srv/mcp.json", `{"command":"run","cwd":"sub","envFile":"a.env","env":{"Z":"1","A":"${TOKEN}","N":3}}`,
			"f7f0422429565ab29d925f3dd676d774", `a (stdio): run A=*** N=*** Z=*** (cwd sub) (envFile a.env) [TOKEN]`},
		{"/home/ada/app/.mcp.json", `{"command":"./run","cwd":"/srv/x"}`,
			"5cf66ab9e6c863497eadb7de3ff91f09", `a (stdio): ./run (cwd /srv/x) []`},
		{"/home/ada/app/.vscode/mcp.json", `{"command":"run","args":["${input:region}"],"env":{"KEY":"${input:key}","GONE":null}}`,
			"3e1bc1aa29a4df0589afba6e1cf00c67", `a (stdio): run ${input:region} KEY=*** [input:region input:key]`},
		{"/home/ada/app/.vscode/mcp.json", `{"type":"http","url":"https://a.example/mcp","headers":{"X-B":"${input:key}","Authorization":"Bearer ${env:T}"}}`,
			"f51334d6daa761c1a9ed8ecd6bfb3ea2", `a (auto): https://a.example/mcp Authorization: *** X-B: *** [input:key T]`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp"}`,
			"", `a (auto): https://a.example/mcp []`},
		{"/srv/mcp.json", `{"url":"https://ann:pass@a.example/mcp?key=1"}`,
			"75383937a70a7debdede7640d2e2e06f", `a (auto): https://***@a.example/mcp?key=*** []`},
		{"/srv/mcp.json", `{"type":"sse","serverUrl":"https://a.example/sse","headers":{"B":"2","A":"1"}}`,
			"ff8a34a2f6087f3c293d01e10441a128", `a (sse): https://a.example/sse A: *** B: *** []`},
		{"/srv/mcp.json", `{"type":"http","command":"x","url":"https://a.example"}`,
			"e80ae08a6a41400df1abc0732f8cea22", `a (http): x https://a.example []`},
		{"/home/ada/.cursor/mcp.json", `{"command":"node","args":["${env:HOME}/x.js","${API_KEY}","${workspaceFolder}"],"env":{"K":"${env:API_KEY}"}}`,
			"8b92debaad71229b6dd9035520371eb8", `a (stdio): node ${env:HOME}/x.js ${API_KEY} ${workspaceFolder} K=*** [HOME API_KEY]`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{}}`,
			"ac5629864f4a5aa28683e9a6750e824b", `a (auto): https://a.example/mcp []`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{"clientId":"c","scopes":["a","b c"],"callbackPort":3118,"hosts":["sso.corp"]}}`,
			"a6c386dfa5613f06890e354f48705d97", `a (auto): https://a.example/mcp (oauth.clientId c) (oauth.scopes "a b c") (oauth.hosts sso.corp) []`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{"clientId":"${ID}","clientSecret":"${SECRET:-x}","grant":"client_credentials"}}`,
			"d4411c5bbd1dbe5b8bcd2256de5b4e83", `a (auto): https://a.example/mcp (oauth.clientId ${ID}) (oauth.grant client_credentials) [ID SECRET]`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{"clientId":"c","privateKey":"${DIR}/key.pem","grant":"client_credentials"}}`,
			"ea22a3e2617768058e01c63db43706da", `a (auto): https://a.example/mcp (oauth.clientId c) (oauth.grant client_credentials) (oauth.privateKey ${DIR}/key.pem) [DIR]`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{"clientId":"c","assertion":"/run/token","grant":"jwt-bearer"}}`,
			"eaac023d5ebb1ddee4b60b0a6df84c49", `a (auto): https://a.example/mcp (oauth.clientId c) (oauth.grant jwt-bearer) (oauth.assertion /run/token) []`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{"clientMetadataUrl":"https://c.example/client.json","scopes":["x"]}}`,
			"241e1a88483ad65d2d7ab95cc32b743e", `a (auto): https://a.example/mcp (oauth.clientMetadataUrl https://c.example/client.json) (oauth.scopes x) []`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{"hosts":["b"],"identityClientSecret":"${input:key}","identityClientId":"i","identityProvider":"https://idp.example","assertion":"/run/id","grant":"enterprise","clientId":"c","issuer":"https://as.example"}}`,
			"acfcacd320beea369bebd8674bc9e8d3", `a (auto): https://a.example/mcp (oauth.clientId c) (oauth.grant enterprise) (oauth.assertion /run/id) (oauth.hosts b) (oauth.identityProvider https://idp.example) (oauth.identityClientId i) (oauth.issuer https://as.example) [input:key]`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{"clientId":"c","clientSecret":"${secret:s}","grant":"token-exchange","audience":"${AUD}","issuer":"https://as.example"}}`,
			"7138d6e3a6936dbf14299e2e7a9dd917", `a (auto): https://a.example/mcp (oauth.clientId c) (oauth.grant token-exchange) (oauth.issuer https://as.example) (oauth.audience ${AUD}) [secret:s AUD]`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","oauth":{"clientId":"c","clientSecret":"${S}","grant":"token-exchange","audience":"files"}}`,
			"7b852d24eecc8861925c1c64b02a6d84", `a (auto): https://a.example/mcp (oauth.clientId c) (oauth.grant token-exchange) (oauth.audience files) [S]`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","tls":{}}`,
			"d64038c104f3b756ef226b3361b1904c", `a (auto): https://a.example/mcp []`},
		{"/srv/mcp.json", `{"url":"https://a.example/mcp","tls":{"key":"k.pem","cert":"${C}.pem"}}`,
			"a2670ea7ef3daa1fcb889ae5cc24804b", `a (auto): https://a.example/mcp (tls.cert ${C}.pem) (tls.key k.pem) [C]`},
		{"/home/ada/app/junction.json", `{"url":"https://a.example/mcp","tls":{"ca":"ca authorities.pem"},"oauth":{"clientId":"c"},"headers":{"A":"b"}}`,
			"37218713310b2501f3282b151b992145", `a (auto): https://a.example/mcp A: *** (oauth.clientId c) (tls.ca "ca authorities.pem") []`},
		{"/srv/mcp.json", `{"openapi":"pets.yaml","url":"https://pets.example/v1","headers":{"X-Key":"${KEY}"},"args":["--tag","dogs"]}`,
			"80f05212628620d113835b6ba70f0ecf", `a (stdio): junction serve openapi --from /srv/pets.yaml --base https://pets.example/v1 --auth-env *** --tag dogs JUNCTION_HEADER_1=*** [KEY]`},
		{"/srv/mcp.json", `{"graphql":"https://graph.example/graphql"}`,
			"", `a (stdio): junction serve graphql --url https://graph.example/graphql []`},
		{"/srv/mcp.json", `{"http":{"name":"forecast",/* of days */"url":"https://w.example/{city}",},"env":{"A":"b"}}`,
			"1809bc5862a5f81ab5e5846e607e8542", `a (stdio): junction serve http --tool *** A=*** []`},
		{"/srv/mcp.json", `{"command":{"path":"pg","args":["--read-only"],"env":{"URL":"postgres://x"}},"timeout":3,"disabled":true,"start":"eager","startTimeout":"5m","revision":"2025-11-25"}`,
			"d74337fd8a4e8444f1a5737e03fa88c0", `a (stdio): pg --read-only URL=*** []`},
		{"/srv/mcp.json", `{"command":"npx","args":["(hash","0)"]}`,
			"ac424f67ec3c86a8158814f8b6c52771", `a (stdio): npx (hash 0) []`},
		{"/srv/mcp.json", `{"command":"npx","args":["${file:/run/secrets/x}","a b","${secret:n}"]}`,
			"dbcc67523df4bf589b403c0c6397f83a", `a (stdio): npx ${file:/run/secrets/x} "a b" "${secret: ***" [file:/run/secrets/x secret:n]`},
	} {
		f := parse(t, test.path, `{"mcpServers":{"a":`+test.entry+`}`+inputs+`}`, Options{HomeDir: home})
		d, ok := f.Server("a")
		if !ok {
			t.Errorf("%s: %v", test.entry, f.Problems)
			continue
		}
		text := strings.Join(append([]string{d.String()}, d.Around()...), " ") + fmt.Sprint(" ", d.Variables())
		if hash := d.Hash(); hash != test.hash || text != test.text {
			t.Errorf("%s\n got %q,\n     %s\nwant %q,\n     %s", test.entry, hash, text, test.hash, test.text)
		}
	}
}
