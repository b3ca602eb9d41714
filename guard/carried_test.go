package guard

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/threadtime"
)

// Made-up secrets in the forms of real ones.
const (
	aKey   = "sk-ant-api03-Q7mXw4Rz8Tn3Vk7Q2m9Xw4Rz8Tn3V"
	aToken = "ghp_k7Q2m9Xw4Rz8Tn3Vk7Q2m9Xw4Rz8Tn3Vab12"
	anID   = "AKIAQ7MXW4RZ2TN3VK7Q"
)

func argumentsOf(pairs ...string) []byte {
	var members []string
	for i := 0; i+1 < len(pairs); i += 2 {
		value, _ := json.Marshal(pairs[i+1])
		members = append(members, fmt.Sprintf("%q:%s", pairs[i], value))
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

func TestCarriedSecretsBehindMuchElse(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads large arguments")
	}
	base := base64.StdEncoding.EncodeToString
	for name, before := range map[string]string{
		"encoded texts":       strings.Repeat(base([]byte("an ordinary piece of text"))+" ", 1_000),
		"long names":          strings.Repeat("internationalization ", 1_000),
		"folders":             strings.Repeat("abcdefghijklmnop/", 1_000),
		"separated numbers":   strings.Repeat("61 62 63 64 65 66 67 68; ; ; ", 200),
		"more than a MiB":     prose(1<<20 + 100),
		"bytes of no text":    base([]byte(strings.Repeat("\xff\x01abc\xfe", 1_000))) + " ",
		"encoded, not a text": base([]byte(strings.Repeat("\xff\x01abc\xfe", 1_000))),
	} {
		for how, spelled := range map[string]string{
			"plain": " " + aToken, "base64": base([]byte("the key is " + aToken)), "base64 of bytes": base([]byte("\xff\x00" + aToken + "\xfe\x01")),
			"base64 of hidden characters": base([]byte("\xff" + aToken[:7] + "\u200b" + aToken[7:])), "hexadecimal": fmt.Sprintf("% x", aToken),
		} {
			if strings.HasPrefix(name, "encoded, not") && how != "plain" {
				spelled = " " + spelled
			}
			if found := CarriedSecrets(argumentsOf("text", before+spelled)); len(found) != 1 || !strings.Contains(found[0].Excerpt, "GitHub token") {
				t.Errorf("%s behind %s: %+v", how, name, found)
			}
			if found := CarriedSecrets(argumentsOf("text", before)); len(found) != 0 {
				t.Errorf("%s alone: %+v", name, found)
			}
		}
	}
	if found := Secrets(prose(1<<20+100) + " " + aToken); len(found) != 1 || found[0].Excerpt != "GitHub token" {
		t.Errorf("in a long text: %+v", found)
	}
}

func TestCarriedSecretsInEverySpelling(t *testing.T) {
	base := base64.StdEncoding.EncodeToString
	for _, secret := range []string{aKey, aToken, anID} {
		b := []byte(secret)
		for name, arguments := range map[string][]byte{
			"plain":                        argumentsOf("q", secret),
			"base64":                       argumentsOf("q", base(b)),
			"base64, longer text":          argumentsOf("q", base([]byte("the key is "+secret+", keep it"))),
			"base64, URL alphabet":         argumentsOf("q", base64.RawURLEncoding.EncodeToString([]byte("\xff\xfe?>"+secret+"\xff"))),
			"base64 within a path":         argumentsOf("url", "https://x.example/upload/"+base(b)+"/done"),
			"base64 behind a path":         argumentsOf("path", "a/b/c/"+base64.RawURLEncoding.EncodeToString(b)),
			"base64 in a query":            argumentsOf("url", "https://x.example/?d="+url.QueryEscape(base(b))),
			"base64 behind a letter":       argumentsOf("q", "x"+base(b)),
			"base64 in lines":              argumentsOf("q", base(b)[:20]+"\r\n"+base(b)[20:]),
			"base64 of base64":             argumentsOf("q", base([]byte(base(b)))),
			"base64 of hexadecimal":        argumentsOf("q", base([]byte(hex.EncodeToString(b)))),
			"hexadecimal":                  argumentsOf("q", hex.EncodeToString(b)),
			"hexadecimal, capitals":        argumentsOf("q", strings.ToUpper(hex.EncodeToString(b))),
			"hexadecimal within a path":    argumentsOf("url", "https://x.example/upload/"+hex.EncodeToString(b)+"/done"),
			"hexadecimal in lines":         argumentsOf("q", hex.EncodeToString(b)[:20]+"\n"+hex.EncodeToString(b)[20:]),
			"base32":                       argumentsOf("q", base32.StdEncoding.EncodeToString(b)),
			"base32, small letters":        argumentsOf("q", strings.ToLower(base32.StdEncoding.EncodeToString([]byte("the key is "+secret)))),
			"base32 within a path":         argumentsOf("url", "https://x.example/upload/"+base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b)+"/done"),
			"base32 of base64":             argumentsOf("q", base32.StdEncoding.EncodeToString([]byte(base(b)))),
			"hexadecimal with spaces":      argumentsOf("q", strings.TrimSpace(fmt.Sprintf("% x", b))),
			"hexadecimal with colons":      argumentsOf("q", strings.ReplaceAll(fmt.Sprintf("% x", b), " ", ":")),
			"hexadecimal with 0x":          argumentsOf("q", strings.ReplaceAll(fmt.Sprintf("% #x", b), " ", ", ")),
			"percent":                      argumentsOf("q", percent(secret)),
			"percent, one letter":          argumentsOf("q", secret[:2]+percent(secret[2:3])+secret[3:]),
			"percent in a path":            argumentsOf("url", "https://x.example/"+percent(secret)),
			"backslash":                    argumentsOf("q", strings.ReplaceAll(percent(secret), "%", `\x`)),
			"escapes of JSON":              []byte(`{"q":"\u00` + hex.EncodeToString(b[:1]) + secret[1:] + `"}`),
			"wide characters":              argumentsOf("q", wide(secret)),
			"hidden characters":            argumentsOf("q", secret[:5]+"\u200b"+secret[5:]),
			"name of a member":             argumentsOf(base(b), "1"),
			"within an array":              []byte(`{"a":[{"b":["` + base(b) + `"]}]}`),
			"two pieces":                   argumentsOf("a", secret[:12], "b", secret[12:]),
			"two pieces, others between":   argumentsOf("a", secret[:12], "to", "ann@x.example", "b", secret[12:]),
			"two pieces, the second first": argumentsOf("b", secret[12:], "a", secret[:12]),
			"three pieces":                 argumentsOf("a", secret[:8], "b", secret[8:14], "c", secret[14:]),
			"pieces of a list":             []byte(`{"a":["` + secret[:7] + `","` + secret[7:13] + `","` + secret[13:] + `"]}`),
			"pieces of base64":             argumentsOf("a", base(b)[:16], "b", base(b)[16:]),
			"not JSON":                     []byte("GET /" + base(b)),
		} {
			if found := CarriedSecrets(arguments); len(found) == 0 {
				t.Errorf("%s: nothing found in %s", name, arguments)
			}
			c := Call{Server: "s", Tool: "t", Arguments: arguments}
			if d := new(Flow).Ask(c); d.Allowed || d.Reasons[0] != CarriesSecret || strings.Contains(d.Why, secret[5:]) {
				t.Errorf("%s: the call needs no yes, or the reason shows the secret: %+v", name, d)
			}
		}
	}
}

func percent(s string) (out string) {
	for _, c := range []byte(s) {
		out += fmt.Sprintf("%%%02X", c)
	}
	return out
}

func wide(s string) string {
	return strings.Map(func(r rune) rune { return r - '!' + '\uff01' }, s)
}

func TestSecretInPiecesOfSeveralCalls(t *testing.T) {
	base := base64.StdEncoding.EncodeToString([]byte(aKey))
	for name, calls := range map[string][]string{
		"two":               {aKey[:14], aKey[14:]},
		"others between":    {aToken[:9], "hello", "a long sentence about nothing", aToken[9:]},
		"base64":            {base[:20], base[20:]},
		"to another server": {aKey[:15], aKey[15:]},
	} {
		f := new(Flow)
		for i, piece := range calls {
			c := Call{Server: fmt.Sprint("s", i%2), Tool: "t", Arguments: argumentsOf("to", "ann@x.example", "text", piece)}
			d := f.Ask(c)
			if last := i == len(calls)-1; d.Allowed == last {
				t.Errorf("%s: call %d: allowed %v: %s", name, i+1, d.Allowed, d.Why)
			}
			f.Sent(c)
		}
	}
	f := new(Flow)
	f.Sent(Call{Arguments: argumentsOf("text", aKey[:14])})
	if d := f.Ask(Call{Server: "s", Arguments: argumentsOf("text", "see you at ten")}); !d.Allowed {
		t.Errorf("a text that goes on with nothing: %s", d.Why)
	}
}

func TestPrivateTextThatIsCarriedEncoded(t *testing.T) {
	const private = "Quarterly numbers for the board: revenue fell by eleven percent, and the bank wants an answer on the loan before Friday noon."
	for name, s := range map[string]string{
		"plain": private, "base64": base64.StdEncoding.EncodeToString([]byte(private)), "URL alphabet": base64.RawURLEncoding.EncodeToString([]byte(private)),
		"hexadecimal": hex.EncodeToString([]byte(private)), "percent": percent(private),
	} {
		f := new(Flow)
		f.Read(Source{Server: "files", Tool: "read"}, Private, private)
		if d := f.Ask(Call{Server: "mail", Tool: "send", Arguments: argumentsOf("text", s)}); d.Allowed || d.Reasons[0] != CarriesText {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestHonestArgumentsCarryNoSecret(t *testing.T) {
	picture := make([]byte, 200_000)
	for i, h := 0, uint64(1); i < len(picture); i++ {
		h = scramble(h*printFactor + uint64(i))
		picture[i] = byte(h)
	}
	for _, arguments := range [][]byte{
		argumentsOf("data", base64.StdEncoding.EncodeToString(picture)),
		argumentsOf("data", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(picture)),
		argumentsOf("hash", hex.EncodeToString(picture[:32]), "commit", hex.EncodeToString(picture[32:52])),
		argumentsOf("id", "550e8400-e29b-41d4-a716-446655440000", "cursor", base64.StdEncoding.EncodeToString([]byte(`{"offset":100,"after":"item-2024-11-05"}`))),
		argumentsOf("path", "/home/ann/projects/risk-management/src/components/internationalization/index.ts"),
		argumentsOf("a", "though", "b", "rights", "c", "eyJ", "d", "high-throughput-computing-2024"),
		argumentsOf("url", "https://x.example/a%20b%2Fc?q=caf%C3%A9&token=abc"),
		argumentsOf("code", "const key = process.env.API_KEY\nfetch(`/x/${key}`)"),
	} {
		if found := CarriedSecrets(arguments); len(found) > 0 {
			t.Errorf("found %+v in %.200s", found, arguments)
		}
	}
}

// The time for a call is bounded, however many of its strings may be pieces of secrets; a finding
// reports unexamined strings. Without bounds each string is joined with each other one, which takes
// hours. The race detector also takes its time.
func TestPiecesTakeBoundedTime(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads the largest arguments, to measure what that takes")
	}
	const signs = "gh-github_pat_-glpat-IA-sk-xox-hooks.slack.com-_live_-AIza-ya29.-npm_-pypi-hf_-SG.-dop_v1_-xapp-shp-dapi-lin_api_-ntn_-sbp_-hvs.-AGE-SECRET-KEY-:AA-AccountKey=-eyJ"
	for name, c := range map[string]struct {
		one string
		n   int
	}{"signs": {signs + "!", 5_000}, "openings": {"ghp_", 20_000}, "encoded": {"c2stYWJjZGVmZ2hpag==", 20_000}} {
		all := strings.Split(strings.Repeat(c.one+" ", c.n), " ")
		for i := range all {
			all[i] += fmt.Sprint(" ", i, all[i])
		}
		arguments, _ := json.Marshal(all)
		var found []Finding
		if took := threadtime.Of(func() { found = CarriedSecrets(arguments) }); took > time.Minute {
			t.Errorf("%s: %d bytes take %v", name, len(arguments), took)
		}
		if len(found) == 0 {
			t.Errorf("%s: nothing is said of what is not looked at", name)
		}
	}
}

// A path of a file with secrets is found although its hyphen is another character: the file system
// server opens names that look the same.
func TestPathsWithOtherHyphensAreFound(t *testing.T) {
	for _, path := range []string{"home/.git\u2010credentials", "home/.git\u2212credentials", "home/.vault\u2014token"} {
		arguments, _ := json.Marshal(map[string]string{"path": path})
		w := &walker{report: newReport()}
		w.carried(arguments, InArguments)
		if found := w.report.findings(); len(found) != 1 || found[0].Rule != "secret-path" {
			t.Errorf("%+q: %+v", path, found)
		}
	}
}
