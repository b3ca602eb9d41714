package redact

import (
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/threadtime"
)

func TestValuesBehindNamesAreHidden(t *testing.T) {
	for text, want := range map[string]string{
		`password: hunter2`:                                        `password: ***`,
		`DB_PASSWORD_2=hunter2; x=1`:                               `DB_PASSWORD_2=***; x=1`,
		`pwd=hunter2 api-key = "a b"`:                              `pwd=*** api-key = "***"`,
		`{"cookie": ["a1", "b2"], "n": [1]}`:                       `{"cookie": ["***", "***"], "n": [1]}`,
		`{"pwd":12345,"secret":null,"auth":true}`:                  `{"pwd":***,"secret":null,"auth":true}`,
		`{"password":"a\"b","c":1}`:                                `{"password":"***","c":1}`,
		`{\"password\":\"a\\\"b\",\"c\":1}`:                        `{\"password\":\"***\",\"c\":1}`,
		`{"password":"cut of`:                                      `{"password":"***`,
		`Authorization: Token abcdefgh`:                            `Authorization: Token ***`,
		`sent Bearer 0123abcd and got 401`:                         `sent Bearer *** and got 401`,
		`see basic information, a bearer token, a cookie: no`:      `see basic information, a bearer token, a cookie: no`,
		`12 tokens: exit status 1; max_tokens=1000000`:             `12 tokens: exit status 1; max_tokens=1000000`,
		`"progressToken":"abcdefgh","secretary":"Adalbert"`:        `"progressToken":"abcdefgh","secretary":"Adalbert"`,
		`bot 123456789:AAabcdefghijklmnopqrstuvwxyz012345678`:      `bot ***`,
		`DefaultEndpointsProtocol=https;AccountKey=MDEyMzQ1Njc4OQ`: `DefaultEndpointsProtocol=https;AccountKey=***`,
		"credentials:\n  password: hunter2\n  user: ada":           "credentials:\n  *** ***\n  user: ada",
		"auth:\n  pwd: hunter2":                                    "auth:\n  pwd: ***",
		`credential: {password: hunter2, user: ada}`:               `credential: *** ***, user: ada}`,
		`auth: secret= hunter2`:                                    `auth: *** ***`,
		`d=xoxd-AbCd0123%2FeFgH4567%3D; a xoxc-1234567890-abcd`:    `d=***; a ***`,
		`at /repos/ghp_0123456789abcdef/x`:                         `at /repos/***`,
		`postgres://ada:pw@db/x`:                                   `postgres://***@db/x`,
	} {
		if got := Hide(text, Hidden); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", text, got, want)
		}
		if got := Hide(want, Hidden); got != want {
			t.Errorf("%s becomes %s the second time", want, got)
		}
	}
}

func TestTokensBehindEscapesAreHidden(t *testing.T) {
	const token, mark = "ghp_k7Q2m9Xw4Rz8Tn3Vk7Q2m9Xw4Rz8Tn3Vab12", "***"
	escaped := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	for _, test := range []struct{ text, want string }{
		{"first\n" + token, "first\n" + mark},
		{"first\r\n" + token + "\n", "first\r\n" + mark + "\n"},
		{"a\t" + token + "\tb", "a\t" + mark + "\tb"},
		{"x\nBearer 0123abcd4567efgh8901", "x\n" + mark},
		{"x\nsk-ant-api03-Q7mXw4Rz8Tn3Vk7Q2m9Xw4Rz", "x\n" + mark},
		{`C:\new\` + token, `C:\new\` + mark},
		{`C:\npm_k7Q2m9Xw4Rz8Tn3Vk7Q2m9Xw4Rz8Tn3Vab12`, `C:\` + mark},
		{"no" + token[:12] + " of\nthem", "no" + token[:12] + " of\nthem"},
	} {
		for depth := range 3 {
			test.text, test.want = escaped.Replace(test.text), escaped.Replace(test.want)
			if got := Hide(test.text, Hidden); got != test.want && got != strings.ReplaceAll(test.want, mark, "Bearer "+mark) {
				t.Errorf("%d deep: %s becomes %s, want %s", depth, test.text, got, test.want)
			}
			found := false
			Find(test.text, func(start, end int, _ string) bool {
				found = test.text[:start]+mark+test.text[end:] == test.want || strings.HasSuffix(test.text[:start], "Bearer ")
				return !found
			})
			if found != (test.text != test.want) {
				t.Errorf("%d deep: %s: found %v", depth, test.text, found)
			}
			quoted := `{"text":"` + strings.ReplaceAll(test.text, `\`, `\\`) + `"}`
			shown, _ := JSON([]byte(quoted), Limits{Text: 1000, Bytes: 1000, Depth: 4})
			if hidden := string(shown) != quoted; hidden != (test.text != test.want) || strings.Contains(string(shown), token[20:]) {
				t.Errorf("%d deep: %s becomes %s", depth, quoted, shown)
			}
		}
	}
}

func TestHidingTakesLinearTime(t *testing.T) {
	for _, part := range []string{"token=a1b2c3d4e5f6", `password:"`, `"pwd":[`, `"pwd":["a",`, "bearer ", "authorization: basic ", "password: basic ", "://a:b@", "sk-", `":`, `\`, "secret: '", "a_", "-----BEGIN PRIVATE" + " KEY-----", `{"a":"`, "[\n"} {
		text := strings.Repeat(part, 1<<18/len(part))
		took := threadtime.Of(func() {
			Hide(text, Hidden)
			Text(text, len(text))
			JSON([]byte(`"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)+`"`), Limits{Text: 1 << 20, Bytes: 1 << 20, Depth: 32})
		})
		if took > 10*time.Second {
			t.Errorf("256 KiB of %q took %v", part, took)
		}
	}
}
