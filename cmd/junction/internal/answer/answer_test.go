package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// desk is one with a person who types lines, and what they see.
func desk(lines ...string) (*Desk, *bytes.Buffer) {
	seen := new(bytes.Buffer)
	screen := terminal.NewScreen(seen)
	typed := strings.Join(lines, "\n")
	if len(lines) > 0 {
		typed += "\n"
	}
	return &Desk{Screen: screen, Person: terminal.NewPerson(strings.NewReader(typed), screen)}, seen
}

func asking(properties string, required ...string) mcp.ElicitRequest {
	names, _ := json.Marshal(required)
	return mcp.ElicitRequest{
		Message:         "Fill this in.",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `}`),
	}
}

func TestForm(t *testing.T) {
	for _, test := range []struct {
		name, properties string
		required         bool // the field a
		typed            string
		want             string
	}{
		{"text is taken without the space around it", `"a":{"type":"string"}`, true, " Ada ,", `{"a":"Ada"}`},
		{"required text may be empty if two quotes say so", `"a":{"type":"string"}`, true, `"",`, `{"a":""}`},
		{"too short text is asked again", `"a":{"type":"string","minLength":2}`, true, "x,xy,", `{"a":"xy"}`},
		{"an optional field is left out", `"a":{"type":"string"}`, false, ",", `{}`},
		{"a default is taken", `"a":{"type":"string","default":"Oslo"}`, true, ",", `{"a":"Oslo"}`},
		{"a default that does not fit is no offer", `"a":{"type":"integer","default":9,"maximum":5}`, true, ",,4,", `{"a":4}`},
		{"a required number is insisted on", `"a":{"type":"integer"}`, true, ",x,1.5,7,", `{"a":7}`},
		{"an integer has bounds", `"a":{"type":"integer","minimum":1,"maximum":9}`, true, "0,10,9,", `{"a":9}`},
		{"a number may have a fraction", `"a":{"type":"number"}`, true, "1.5,", `{"a":1.5}`},
		{"an empty line is no required text", `"a":{"type":"string"}`, true, ",x,", `{"a":"x"}`},
		{"Enter alone sends nothing, defaults neither", `"password":{"type":"string","default":"hunter2"}`, false, ",,,,:cancel", `cancel`},
		{"yes and no are booleans", `"a":{"type":"boolean"},"b":{"type":"boolean"}`, true, "Yes,n,", `{"a":true,"b":false}`},
		{"a boolean is nothing else", `"a":{"type":"boolean"}`, true, "maybe,y,", `{"a":true}`},
		{"a default false is an offer", `"a":{"type":"boolean","default":false}`, true, ",", `{"a":false}`},
		{"a choice is its number", `"a":{"type":"string","enum":["s","m"]}`, true, "3,2,", `{"a":"m"}`},
		{"a choice is its value", `"a":{"type":"string","enum":["s","m"]}`, true, "s,", `{"a":"s"}`},
		{"a choice is its title", `"a":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}`, true, "Green,", `{"a":"#0f0"}`},
		{"a choice has an old kind of titles", `"a":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}`, true, "Red,", `{"a":"r"}`},
		{"a value that is a number comes before the number of a choice", `"a":{"type":"string","enum":["2","1"]}`, true, "1,", `{"a":"1"}`},
		{"several choices", `"a":{"type":"array","items":{"type":"string","enum":["x","y","z"]}}`, true, "1 3,", `{"a":["x","z"]}`},
		{"several choices with titles", `"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"},{"const":"y","title":"Why"}]}}`, true, "Why,", `{"a":["y"]}`},
		{"no choice of several", `"a":{"type":"array","items":{"type":"string","enum":["x"]},"default":["x"]}`, true, "none,", `{"a":[]}`},
		{"the default of several choices", `"a":{"type":"array","items":{"type":"string","enum":["x","y"]},"default":["y","x"]}`, true, ",", `{"a":["x","y"]}`},
		{"too many choices", `"a":{"type":"array","maxItems":1,"items":{"type":"string","enum":["x","y"]}}`, true, "1 2,1,", `{"a":["x"]}`},
		{"an e-mail address", `"a":{"type":"string","format":"email"}`, true, "ada,Ada <a@b.c>,a@b.c,", `{"a":"a@b.c"}`},
		{"a URI", `"a":{"type":"string","format":"uri"}`, true, "nope,https://x.y,", `{"a":"https://x.y"}`},
		{"a date", `"a":{"type":"string","format":"date"}`, true, "31.1.2026,2026-02-30,2026-01-31,", `{"a":"2026-01-31"}`},
		{"a time", `"a":{"type":"string","format":"date-time"}`, true, "2026-01-31,2026-01-31T12:00:00Z,", `{"a":"2026-01-31T12:00:00Z"}`},
		{"the form can be edited before it is sent", `"a":{"type":"string"}`, true, "x,e,y,s,yes", `{"a":"y"}`},
		{"a field is kept when the form is edited", `"a":{"type":"string"}`, true, "x,e,,", `{"a":"x"}`},
		{"a declined field", `"a":{"type":"string"}`, true, ":decline", `decline`},
		{"a cancelled field", `"a":{"type":"string"}`, true, ":cancel", `cancel`},
		{"a declined form", `"a":{"type":"string"}`, true, "x,n", `decline`},
		{"a cancelled form", `"a":{"type":"string"}`, true, "x,:cancel", `cancel`},
		{"the end of the input cancels", `"a":{"type":"string"}`, true, "x", `cancel`},
		{"a yes or no that is all of the form is sent as it was typed", `"a":{"type":"boolean"}`, true, "maybe,y", `{"a":true}`},
		{"a no to a single question is its answer, and declines nothing", `"a":{"type":"boolean"}`, true, "n", `{"a":false}`},
		{"words that the server has for yes and no are no answer to the form", `"a":{"type":"boolean","oneOf":[{"const":true,"title":"no"},{"const":false,"title":"yes"}]}`, true, "n,n", `decline`},
		{"a form without fields is only sent", ``, false, ",y", `{}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := strings.Split(test.typed, ",")
			if last := len(lines) - 1; last > 0 && lines[last] == "" {
				lines[last] = "y" // Enter alone sends nothing
			}
			d, seen := desk(lines...)
			if test.typed == "x" { // nothing more is typed
				d.Person = terminal.NewPerson(strings.NewReader("x\n"), d.Screen)
			}
			req := asking(test.properties)
			if test.required {
				req = asking(test.properties, "a")
			}
			result, err := d.Answer(t.Context(), host.Form{Server: "weather", Request: req})
			if err != nil {
				t.Fatal(err)
			}
			got := result.Action
			if got == mcp.ElicitAccept {
				got = string(result.Content)
			}
			if got != test.want {
				t.Errorf("got %s, want %s; the person saw\n%s", got, test.want, seen)
			}
		})
	}
}

func TestFormForTheUser(t *testing.T) {
	d, seen := desk("9", "3", "", "y")
	_, err := d.Answer(t.Context(), host.Form{Server: "weather\x1b[2J", Request: asking(
		`"days":{"type":"integer","title":"Days\u001b[2J","description":"How many.","minimum":1,"maximum":5},"unit":{"type":"string","enum":["C","F"],"enumNames":["Celsius","Fahrenheit"],"default":"F"}`, "days")})
	if err != nil {
		t.Fatal(err)
	}
	const want = `── weather\x1b[2J asks you ─────────────────────────────────────────────────────
│ Fill this in.
Type a text, or the number or name of a choice. Type - for none, or only Enter
to keep the value. :decline and :cancel end the form.

  Days\x1b[2J (integer, 1 to 5, required)
  How many.
  > 
? 

  Days\x1b[2J (integer, 1 to 5, required)
  How many.
  > 9
  ✗ expected integer between 1 and 5, got 9
? 

  unit (one of these, optional)
  1 ( ) Celsius   2 (•) Fahrenheit
? 
── send this to weather\x1b[2J? ────────────────────────────────────────────────
days: 3
unit: "F"
y send · n decline · e Esc edit
? `
	if strings.ReplaceAll(seen.String(), "\u00a0", " ") != want {
		t.Errorf("the person saw\n%s\nwant\n%s", seen, want)
	}
}

func TestFormsThatCannotBeAsked(t *testing.T) {
	many := make([]string, 100+1)
	for i := range many {
		many[i] = `"` + strings.Repeat("x", i+1) + `":{"type":"string"}`
	}
	for name, properties := range map[string]string{
		"too many fields":        strings.Join(many, ","),
		"a list without choices": `"a":{"type":"array","items":{"type":"string"}}`,
		"a choice without value": `"a":{"type":"string","oneOf":[{"title":"Red"}]}`,
		"a field of no schema":   `"a":{"type":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := desk("x", "")
			_, err := d.Answer(t.Context(), host.Form{Server: "weather", Request: asking(properties)})
			if !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
				t.Errorf("got %v, want invalid params", err)
			}
		})
	}
}

func TestVisit(t *testing.T) {
	for _, test := range []struct{ name, url, typed, want, seen string }{
		{"consent", "https://example.com/a?b=c", "y", "accept", "https://example.com/a?b=c\n\nhost: example.com\n"},
		{"asks again", "https://example.com/", "what\nno", "decline", ""},
		{"Enter is no consent", "https://example.com/", "\n:cancel", "cancel", ""},
		{"the end of the input cancels", "https://example.com/", "", "cancel", ""},
		{"warns of user names", "https://bank.example@evil.example/", "n", "decline", "! the part before the @ is not the host"},
		{"warns of other alphabets", "https://xn--pple-43d.com/", "n", "decline", "! the host has letters of other alphabets"},
		{"warns of no encryption", "http://example.com/", "n", "decline", "! the connection to it is not encrypted"},
		{"shows what nobody sees", "https://example.com/\u202egnp", "n", "decline", `\u202e`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, seen := desk(test.typed)
			result, err := d.Answer(t.Context(), host.Form{Server: "shop", Request: mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: "Log in.", URL: test.url}})
			if err != nil {
				t.Fatal(err)
			}
			if result.Action != test.want || !strings.Contains(seen.String(), test.seen) {
				t.Errorf("got %s, want %s; the person saw\n%s", result.Action, test.want, seen)
			}
		})
	}
	for _, url := range []string{"javascript:alert(1)", "file:///etc/passwd", "", "https://", "https://x/" + strings.Repeat("y", maxURL)} {
		d, _ := desk("y")
		if _, err := d.Answer(t.Context(), host.Form{Server: "shop", Request: mcp.ElicitRequest{Mode: mcp.ElicitURL, URL: url}}); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
			t.Errorf("%.40q: got %v, want invalid params", url, err)
		}
	}
}

func TestAnswersWithoutAUser(t *testing.T) {
	page := mcp.ElicitRequest{Mode: mcp.ElicitURL, URL: "https://example.com/"}
	fields := asking(`"name":{"type":"string"}`, "name")
	for _, test := range []struct {
		name, flag string
		req        mcp.ElicitRequest
		want       string
	}{
		{"nothing said declines", "", fields, `decline`},
		{"nothing said declines pages", "", page, `decline`},
		{"accept takes the defaults", "accept", fields, `accept {}`},
		{"accept consents to pages", "accept", page, `accept `},
		{"decline", "decline", fields, `decline`},
		{"cancel", "cancel", fields, `cancel`},
		{"JSON fills in what is asked", `{"name":"Ada","place":"Oslo"}`, fields, `accept {"name":"Ada"}`},
		{"JSON consents to no page", `{"name":"Ada"}`, page, `decline`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, seen := desk()
			d.Person, d.Elicit = nil, test.flag
			if err := d.Check(); err != nil {
				t.Fatal(err)
			}
			result, err := d.Answer(t.Context(), host.Form{Server: "weather", Request: test.req})
			if err != nil {
				t.Fatal(err)
			}
			got := result.Action
			if got == mcp.ElicitAccept {
				got += " " + string(result.Content)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if lacks := "but the form needs name, which has no default; give it with --elicit '{\"name\": …}'"; strings.Contains(seen.String(), lacks) != (got == "accept {}") {
				t.Errorf("the screen says %s", seen)
			}
		})
	}
}

func TestCheckNamesTheFlag(t *testing.T) {
	screen := terminal.NewScreen(io.Discard)
	for _, test := range []struct {
		desk Desk
		want string
	}{
		{Desk{Screen: screen, Elicit: "yes"}, "--elicit: "},
		{Desk{Screen: screen, Elicit: "[1]"}, "--elicit: "},
		{Desk{Screen: screen, Elicit: `{"a":`}, "--elicit: "},
		{Desk{Screen: screen, Roots: []string{"no/such/folder"}}, "--root no/such/folder: "},
	} {
		if err := test.desk.Check(); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("got %v, want %s…", err, test.want)
		}
	}
}

func TestQuestionsAreWithdrawnWithTheCall(t *testing.T) {
	in, typing := io.Pipe()
	defer typing.Close()
	d, _ := desk()
	d.Person = terminal.NewPerson(in, d.Screen)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Answer(ctx, host.Form{Server: "weather", Request: asking(`"a":{"type":"string"}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFlagsBoundQuestions(t *testing.T) {
	d, _ := desk()
	var o mcp.ClientOptions
	d.Serve(&o, "weather")
	if o.OnElicit == nil || o.OnSample != nil || o.OnRoots != nil {
		t.Error("want elicitation only")
	}
	d.Sample, d.Roots = "x", []string{t.TempDir()}
	d.Serve(&o, "weather")
	roots, err := o.OnRoots(t.Context())
	if o.OnSample == nil || err != nil || len(roots) != 1 || !strings.HasPrefix(roots[0].URI, "file:///") {
		t.Errorf("got roots %+v, %v", roots, err)
	}
}
