package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestAnEntrySaysHowTokensAreGot(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.json")
	t.Setenv("THE_SECRET", "s3cret")
	for _, test := range []struct {
		name, oauth string
		want        OAuth
		fault       string
	}{
		{"a client that was registered", `{"clientId":"c","scopes":["a","b"],"callbackPort":3118,"hosts":["sso.corp"]}`, OAuth{ClientID: "c", Scopes: []string{"a", "b"}, CallbackPort: 3118, Hosts: []string{"sso.corp"}}, ""},
		{"one with a secret", `{"clientId":"c","clientSecret":"${THE_SECRET}","grant":"client_credentials"}`, OAuth{ClientID: "c", ClientSecret: "s3cret", Grant: GrantClientCredentials}, ""},
		{"one with a key", `{"clientId":"c","privateKey":"key.pem","grant":"client_credentials"}`, OAuth{ClientID: "c", KeyFile: filepath.Join(dir, "key.pem"), Grant: GrantClientCredentials}, ""},
		{"a workload", `{"clientId":"c","assertion":"/var/run/token","grant":"jwt-bearer"}`, OAuth{ClientID: "c", Grant: GrantAssertion, AssertionFile: "/var/run/token"}, ""},
		{"a client that publishes a document", `{"clientMetadataUrl":"https://c.example/client.json","callbackPort":3118}`, OAuth{CallbackPort: 3118, Document: "https://c.example/client.json"}, ""},
		{"a document and a client", `{"clientId":"c","clientMetadataUrl":"https://c.example/client.json"}`, OAuth{}, "has both clientId and clientMetadataUrl"},
		{"a document that others can change on the way", `{"clientMetadataUrl":"http://c.example/client.json"}`, OAuth{}, "expected the https URL of a document"},
		{"a document without a path", `{"clientMetadataUrl":"https://c.example/"}`, OAuth{}, "expected the https URL of a document"},
		{"a document of this machine, for tests", `{"clientMetadataUrl":"http://127.0.0.1:1/client.json"}`, OAuth{Document: "http://127.0.0.1:1/client.json"}, ""},
		{"a user of an organization", `{"clientId":"c","grant":"enterprise","assertion":"/run/id","identityProvider":"https://idp.example","identityClientId":"i","identityClientSecret":"${THE_SECRET}"}`, OAuth{ClientID: "c", Grant: GrantEnterprise, AssertionFile: "/run/id", IdentityProvider: "https://idp.example", IdentityClientID: "i", IdentityClientSecret: "s3cret"}, ""},
		{"a user of an organization who logs in", `{"clientId":"c","grant":"enterprise","identityProvider":"https://idp.example","identityClientId":"i"}`, OAuth{ClientID: "c", Grant: GrantEnterprise, IdentityProvider: "https://idp.example", IdentityClientID: "i"}, ""},
		{"an organization without its provider", `{"clientId":"c","grant":"enterprise","assertion":"/run/id"}`, OAuth{}, "identityProvider, the issuer of your organization's identity provider, and the grant enterprise go together"},
		{"a provider without its client", `{"clientId":"c","grant":"enterprise","assertion":"/run/id","identityProvider":"https://idp.example"}`, OAuth{}, "identityClientId is missing"},
		{"a provider that nothing asks", `{"clientId":"c","identityProvider":"https://idp.example"}`, OAuth{}, "go together"},
		{"the provider's secret in the file", `{"clientId":"c","grant":"enterprise","assertion":"/run/id","identityProvider":"https://idp.example","identityClientId":"i","identityClientSecret":"s3cret"}`, OAuth{}, "keep the secret itself in the environment"},
		{"a gateway", `{"clientId":"c","clientSecret":"${THE_SECRET}","grant":"token-exchange","audience":"files","issuer":"https://as.example"}`, OAuth{ClientID: "c", ClientSecret: "s3cret", Grant: GrantExchange, Issuer: "https://as.example", Audience: "files"}, ""},
		{"a gateway that nobody knows", `{"clientId":"c","grant":"token-exchange"}`, OAuth{}, "token-exchange needs clientSecret"},
		{"an audience without a gateway", `{"clientId":"c","audience":"files"}`, OAuth{}, "audience goes with the grant token-exchange"},
		{"an issuer of nothing", `{"issuer":"https://as.example"}`, OAuth{}, "goes with clientId"},
		{"another grant", `{"clientId":"c","grant":"password"}`, OAuth{}, "grant: expected client_credentials"},
		{"no client", `{"grant":"client_credentials"}`, OAuth{}, "clientId is missing"},
		{"a secret in the file", `{"clientId":"c","clientSecret":"s3cret"}`, OAuth{}, "keep the secret itself in the environment"},
		{"no secret", `{"clientId":"c","grant":"client_credentials"}`, OAuth{}, "needs clientSecret"},
		{"both", `{"clientId":"c","clientSecret":"${THE_SECRET}","privateKey":"k"}`, OAuth{}, "has both"},
		{"no statement", `{"clientId":"c","grant":"jwt-bearer"}`, OAuth{}, "go together"},
		{"no port", `{"callbackPort":70000}`, OAuth{}, "callbackPort: expected a port"},
		{"no object", `true`, OAuth{}, "expected an object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := Parse(file, []byte(`{"mcpServers":{"x":{"url":"https://mcp.example/mcp","oauth":`+test.oauth+`}}}`), Options{})
			if test.fault != "" {
				if text := fmt.Sprint(err, set.Problems); !strings.Contains(text, test.fault) {
					t.Errorf("%s, want %q", text, test.fault)
				}
				return
			}
			if err != nil || len(set.Servers) != 1 {
				t.Fatal(err, set.Problems)
			}
			d := set.Servers[0]
			s, err := d.Resolve(t.Context())
			if err != nil || !reflect.DeepEqual(*s.OAuth, test.want) {
				t.Fatalf("%+v, %v, want %+v", s, err, test.want)
			}
			if d.Hash() == "" || !strings.Contains(strings.Join(d.Around(), " "), "(oauth.client") || strings.Contains(fmt.Sprint(d, d.Around(), *s), "s3cret") {
				t.Errorf("hash %q, %s, %v", d.Hash(), d, d.Around())
			}
		})
	}
}

// TestTheSchemaHasTheMembersThatAreRead checks that editors offer exactly the members that are
// read.
func TestTheSchemaHasTheMembersThatAreRead(t *testing.T) {
	var document struct {
		Properties struct {
			McpServers struct {
				AdditionalProperties struct {
					Properties struct {
						OAuth struct {
							Properties map[string]struct{ Type string }
						} `json:"oauth"`
					}
				}
			} `json:"mcpServers"`
		}
	}
	if err := json.Unmarshal(Schema(), &document); err != nil {
		t.Fatal(err)
	}
	members := document.Properties.McpServers.AdditionalProperties.Properties.OAuth.Properties
	read := 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[OAuth]()) {
		if field.IsExported() {
			read++
		}
	}
	if len(members) != read {
		t.Errorf("the schema has %d members, and %d are read", len(members), read)
	}
	values := map[string]string{"string": `"https://x.example/y"`, "array": `["x"]`, "integer": "1"}
	for name, member := range members {
		set, err := Parse("mcp.json", []byte(`{"mcpServers":{"x":{"url":"https://mcp.example/mcp","oauth":{"`+name+`":`+values[member.Type]+`}}}}`), Options{})
		if text := fmt.Sprint(err, set.Problems); strings.Contains(text, "is ignored") || strings.Contains(text, "expected a") {
			t.Errorf("%s of type %s: %s", name, member.Type, text)
		}
	}
}
