package recording

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// The secrets are assembled here, so that scanners of repositories do not take them for real.
var (
	aToken  = "ghp_" + strings.Repeat("a1B2", 9)
	aKey    = "AKIA" + strings.Repeat("Z7Q4", 4)
	another = "glpat-" + strings.Repeat("c3D4", 6)
)

func TestSecretsBecomePlaceholdersAndAllElseStays(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"nothing", `{ "a" : [1, 2.50,null,"é\u00e9\/"],"author":"Ada","tokens":12,"key":"k" }`, ``},
		{"a schema", `{"properties":{"password":{"type":"string"}},"required":["password"]}`, ``},
		{"by name", `{"password":"hunter2","n":1}`, `{"password":"{{secret-1}}","n":1}`},
		{"a number by name", `{"pwd": 12345 ,"n":12345}`, `{"pwd": "{{secret-1}}" ,"n":12345}`},
		{"names are spelled in many ways", `{"API_KEY":"a1","client-secret":"b2","accessToken":"c3","Authorization":"d4"}`,
			`{"API_KEY":"{{secret-1}}","client-secret":"{{secret-2}}","accessToken":"{{secret-3}}","Authorization":"{{secret-4}}"}`},
		{"an empty one", `{"password":"","secret":null,"token":"word","pageToken":"a"}`, ``},
		{"a token by name and value", `{"pageToken":"opaque-42"}`, `{"pageToken":"{{secret-1}}"}`},
		{"by its looks", `["use ` + aToken + `!"]`, `["use {{secret-1}}!"]`},
		{"again, from then on", `{"text":"hunter2-abc","password":"hunter2-abc","echo":"it was hunter2-abc, yes","hunter2-abc":1}`,
			`{"text":"hunter2-abc","password":"{{secret-1}}","echo":"it was {{secret-1}}, yes","{{secret-1}}":1}`},
		{"a plain word only where it is named", `{"password":"filesystem","text":"a filesystem"}`, `{"password":"{{secret-1}}","text":"a filesystem"}`},
		{"a short one only where it is named", `{"password":"a1","text":"a1"}`, `{"password":"{{secret-1}}","text":"a1"}`},
		{"the same one twice, and another", `["` + aToken + `","` + another + `","` + aToken + `"]`, `["{{secret-1}}","{{secret-2}}","{{secret-1}}"]`},
		{"JSON in a text", `{"text":"{\"password\": \"hunter2\", \"n\":1}"}`, `{"text":"{\"password\": \"{{secret-1}}\", \"n\":1}"}`},
		{"JSON in JSON in a text", `["[\"{\\\"password\\\":\\\"hunter2\\\"}\"]"]`, `["[\"{\\\"password\\\":\\\"{{secret-1}}\\\"}\"]"]`},
		{"lines of JSON in a text", `{"text":"2 rows:\n{\"password\":\"a1\"}\r\n { \"pwd\" : \"b2\" }\n"}`, `{"text":"2 rows:\n{\"password\":\"{{secret-1}}\"}\r\n { \"pwd\" : \"{{secret-2}}\" }\n"}`},
		{"JSON in quotes in a text", `["\"{\\\"password\\\":\\\"hunter2\\\"}\""]`, `["\"{\\\"password\\\":\\\"{{secret-1}}\\\"}\""]`},
		{"a text in which a name repeats", `["{\"password\":\"a1\",\"password\":\"b2\"}"]`, `["{\"password\":\"{{secret-1}}\",\"password\":\"{{secret-2}}\"}"]`},
		{"a progress token", `{"_meta":{"progressToken":"0b8c1f2e-5d1c-4b1a"}}`, ``},
		{"a text in base64", `{"blob":"` + b64("TOKEN="+aToken) + `"}`, `{"blob":"` + b64("TOKEN={{secret-1}}") + `"}`},
		{"a picture", `{"data":"` + b64("\x89PNG\xff"+aToken) + `"}`, ``},
		{"escapes", `{"password":"a\u0062c-12\"3","echo":"<abc-12\"3>"}`, `{"password":"{{secret-1}}","echo":"<{{secret-1}}>"}`},
		{"a name twice", `{"password":"hunter2-abc","o":{"hunter2-abc":1,"{{secret-1}}":2}}`, `{}`},
		{"in a list by name", `{"Set-Cookie":["sid=hunter2","n=1"],"pwd":[[12345],"b2"],"a":["b2"]}`, `{"Set-Cookie":["{{secret-1}}","{{secret-2}}"],"pwd":[["{{secret-3}}"],"{{secret-4}}"],"a":["b2"]}`},
		{"behind a list", `[{"password":["a1"]},"b2",{"c":["d4",{"e":"f5"},"g6"]}]`, `[{"password":["{{secret-1}}"]},"b2",{"c":["d4",{"e":"f5"},"g6"]}]`},
		{"a name by its looks", `{"` + aToken + `":1}`, `{"{{secret-1}}":1}`},
		{"what could be base64, and is a key", `{"data":"` + aKey + `","blob":["` + aKey + `"]}`, `{"data":"{{secret-1}}","blob":["{{secret-1}}"]}`},
		{"what could be base64, and is known", `{"password":"0123456789abcdef","data":"0123456789abcdef"}`, `{"password":"{{secret-1}}","data":"{{secret-1}}"}`},
		{"a part of another", `{"password":"a1B2a1B2","text":"use ` + aToken + `!"}`, `{"password":"{{secret-1}}","text":"use {{secret-2}}!"}`},
		{"a placeholder", `{"password":"{{secret-7}}"}`, ``},
	} {
		got := string(new(hider).json([]byte(test.data)))
		if test.want == "" {
			test.want = test.data
		}
		if got != test.want {
			t.Errorf("%s: %s becomes\n%s, want\n%s", test.name, test.data, got, test.want)
		}
		if again := string(new(hider).json([]byte(got))); again != got {
			t.Errorf("%s: %s becomes\n%s the second time", test.name, got, again)
		}
	}
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestSecretsThatAreKnownAreHiddenEverywhere(t *testing.T) {
	h := new(hider)
	for _, secret := range []string{"longer-secret-1-more", "longer-secret-1"} {
		h.learn(secret)
	}
	if got, want := h.text("longer-secret-1 and longer-secret-1-more"), "{{secret-2}} and {{secret-1}}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestGivenSecretsAreHidden checks that invented secrets of a server do not
// exhaust the placeholders of given ones.
func TestGivenSecretsAreHidden(t *testing.T) {
	h := new(hider)
	for i := range maxSecrets + 5 {
		h.learn("secret-number-" + strings.Repeat("x", i))
	}
	h.hide("given-secret-1")
	if got, want := h.text("it is given-secret-1"), "it is {{secret-1001}}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSecretsThatAreGivenAreHiddenHoweverTheyAreSpelled(t *testing.T) {
	const secret = "s3cret \"<value>?\""
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, text string }{
		{"as it is", secret},
		{"in JSON within a text", `it answered {"a": "s3cret \"<value>?\""} and`},
		{"in a query", "https://h/?q=" + url.QueryEscape(secret)},
		{"in a path", "https://h/" + url.PathEscape(secret)},
		{"in base64", "it is " + b64(secret)},
		{"in base64, behind one byte", "it is " + b64(":"+secret+"!")},
		{"in base64, behind two bytes", "it is " + b64("a:"+secret)},
		{"in base64 of URLs", "it is " + base64.RawURLEncoding.EncodeToString([]byte("user:"+secret))},
	} {
		h := new(hider)
		h.hide(secret)
		if got := h.text(test.text); !strings.Contains(got, "{{secret-1}}") || strings.Contains(got, "czNj") {
			t.Errorf("%s: %s becomes %s", test.name, test.text, got)
		}
		if raw := string(h.json([]byte(`{"text":` + string(quoted) + `}`))); raw != `{"text":"{{secret-1}}"}` {
			t.Errorf("got %s", raw)
		}
	}
}

func TestSecretsAreHiddenBeyondTheLimit(t *testing.T) {
	h := new(hider)
	for i := range maxSecrets + 5 {
		h.learn("secret-number-" + strings.Repeat("x", i))
	}
	if len(h.placeholder) != maxSecrets {
		t.Errorf("%d are kept, want %d", len(h.placeholder), maxSecrets)
	}
	if got, want := string(h.json([]byte(`{"password":"one more"}`))), `{"password":"{{secret-0}}"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLongSecretsAreHiddenAndNotKept checks that very long secrets, and texts of JSON nested too
// deeply, are hidden without being stored.
func TestLongSecretsAreHiddenAndNotKept(t *testing.T) {
	long := strings.Repeat("a1", maxSecret)
	deep := `["` + long + `"]`
	for range 9 {
		quoted, _ := json.Marshal(deep)
		deep = "[" + string(quoted) + "]"
	}
	for name, data := range map[string]string{
		"a password":    `{"password":"` + long + `"}`,
		"a private key": `{"text":"-----BEGIN PRIVATE` + ` KEY-----\n` + long + `"}`,
		"nested texts":  deep,
	} {
		h := new(hider)
		got := string(h.json([]byte(data)))
		if !strings.Contains(got, manySecrets) || strings.Contains(got, long) || len(h.placeholder) > 0 {
			t.Errorf("%s: %d are kept, and %d bytes written, want %s", name, len(h.placeholder), len(got), manySecrets)
		}
	}
}
