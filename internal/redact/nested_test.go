package redact

import (
	"encoding/json"
	"testing"
)

// The body of a request is mostly JSON, as a string in the arguments of a call.
func TestSecretsInJSONStringsAreHidden(t *testing.T) {
	for text, want := range map[string]string{
		`{"body":"{\"password\":\"hunter2\"}"}`:                            `{"body":"{\"password\":\"***\"}"}`,
		`{"body":" {\"user\": \"me\", \"api_key\" : [\"hunter2\"]}\n"}`:    `{"body":"{\"user\":\"me\",\"api_key\":\"***\"}"}`,
		`["[{\"Authorization\":\"x y\"}]"]`:                                `["[{\"Authorization\":\"***\"}]"]`,
		`{"a":"{\"b\":\"{\\\"secret\\\":\\\"hunter2\\\"}\"}"}`:             `{"a":"{\"b\":\"{\\\"secret\\\":\\\"***\\\"}\"}"}`,
		`{"body":"{\u0022password\u0022:\u0022hunter2\u0022}"}`:            `{"body":"{\"password\":\"***\"}"}`,
		`{"a":"{\"b\":\"{\\u0022secret\\u0022:\\u0022hunter2\\u0022}\"}"}`: `{"a":"{\"b\":\"{\\\"secret\\\":\\\"***\\\"}\"}"}`,
		`{"text":"\u0022a\u0022"}`:                                         `{"text":"\"a\""}`,
		`{"body":"\"{\\\"password\\\":\\\"hunter2\\\"}\""}`:                `{"body":"\"{\\\"password\\\":\\\"***\\\"}\""}`,
		`{"text":"\"password\""}`:                                          `{"text":"\"password\""}`,
		`{"text":"say \"password\": no"}`:                                  `{"text":"say \"password\": no"}`,
		`{"text":"a\n{\"password\":\"hunter2\"}\n{ \"pwd\": [\"x\"] }"}`:   `{"text":"a\n{\"password\":\"***\"}\n{\"pwd\":\"***\"}"}`,
		`{"text":"{\"password\":"}`:                                        `{"text":"{\"password\":"}`,
		`{"text":"{\"name\": \"me\"}"}`:                                    `{"text":"{\"name\": \"me\"}"}`,
		`{"text":"\"a\" \"b"}`:                                             `{"text":"\"a\" \"b"}`,
	} {
		if got, whole := JSON(json.RawMessage(text), Limits{Text: 1000, Bytes: 1 << 20, Depth: 32}); string(got) != want || !whole {
			t.Errorf("%s becomes\n%s, want\n%s", text, got, want)
		}
	}
	deep := `"{\"password\":\"hunter2\"}"`
	for range 12 {
		quoted, err := json.Marshal(`{"a":` + deep + `}`)
		if err != nil {
			t.Fatal(err)
		}
		deep = string(quoted)
	}
	if got, _ := JSON(json.RawMessage(deep), Limits{Text: 1 << 20, Bytes: 1 << 20, Depth: 8}); len(got) > 1000 {
		t.Errorf("what is nested deeper than it may be is shown: %.200s", got)
	}
	if got, whole := JSON(json.RawMessage(`{"body":"{\"password\":\"hunter2\",\"a\":\"0123456789012345678901234567890123456789\"}"}`), Limits{Text: 1000, Bytes: 40, Depth: 8}); whole {
		t.Errorf("more than it may have: %s", got)
	}
}
