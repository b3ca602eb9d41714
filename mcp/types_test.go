//lint:file-ignore SA5008,U1000,SA9005 the types here are those of other people, or never filled

package mcp_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// Types as programs and code generators define them.
type (
	color         int // with text methods, one of them on the pointer
	level         int // with text methods for writing only
	stringer      int
	byName        string // a type with the JSON methods of an old API
	hardware      []byte
	digest        [4]byte
	identity      [2]byte // with text methods
	octet         uint8
	leaf          struct{ N int }
	base          struct{ ID string }
	other         struct{ ID, Kind string }
	Embedded      struct{ ID string }
	Wrapped       struct{ Embedded }
	Flag          bool
	itself        struct{ Next *itself }
	siblings      struct{ All []siblings }
	family        map[string]family
	first         struct{ Second *second }
	second        struct{ First *first }
	pageOf[T any] struct {
		Items []T
		Next  *pageOf[T]
	}
	sealed struct{ hidden int } // with JSON methods
	opaque struct{ hidden int }
	shape  interface{ Area() float64 }
	dated  struct {
		time.Time
		Note string
	}
	union struct{ Text string }
)

func (c color) MarshalText() ([]byte, error) { return []byte([]string{"red", "green"}[c]), nil }
func (c *color) UnmarshalText(text []byte) error {
	*c = color(len(text) - len("red"))
	*c /= 2
	return nil
}
func (l level) MarshalText() ([]byte, error) { return []byte("level"), nil }
func (s stringer) String() string            { return "s" }
func (n byName) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"name": string(n)})
}
func (n *byName) UnmarshalJSON(data []byte) error {
	var v map[string]string
	err := json.Unmarshal(data, &v)
	*n = byName(v["name"])
	return err
}
func (i identity) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", i[:]), nil }
func (i *identity) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%02x%02x", &i[0], &i[1])
	return err
}
func (s sealed) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `[%d]`, s.hidden), nil }
func (s *sealed) UnmarshalJSON(data []byte) error {
	_, err := fmt.Sscanf(string(data), "[%d]", &s.hidden)
	return err
}

// UnmarshalJSON accepts an old name of the member.
func (u *union) UnmarshalJSON(data []byte) error {
	var v struct{ Text, Q string }
	err := json.Unmarshal(data, &v)
	u.Text = v.Text + v.Q
	return err
}

// A typeCase is a Go type as a member of a tool's input and of its output.
type typeCase struct {
	name    string
	addIn   func(*mcp.Server)
	addOut  func(*mcp.Server)
	encoded string // {"v":…} by encoding/json

	differs string // the output, if it differs from encoding/json: the differences in docs/server.md
	refused string // words of the panic of an In
	back    string // the encoding of the decoded value, if not the same
}

func typed[T any](name string, value T, differs, refused string) typeCase {
	type holder struct {
		V T `json:"v"`
	}
	encoded, err := json.Marshal(holder{value})
	if err != nil {
		panic(err)
	}
	return typeCase{
		name: name, encoded: string(encoded), differs: differs, refused: refused,
		addIn: func(s *mcp.Server) {
			mcp.AddTool(s, "in", func(_ context.Context, in holder) (string, error) {
				text, err := json.Marshal(in)
				return string(text), err
			})
		},
		addOut: func(s *mcp.Server) {
			mcp.AddTool(s, "out", func(context.Context, struct{}) (holder, error) { return holder{value}, nil })
		},
	}
}

func (c typeCase) reads(back string) typeCase { c.back = back; return c }

func typeCases() []typeCase {
	when := time.Date(2026, 11, 28, 1, 2, 3, 4, time.UTC)
	ten, word := 10, "w"
	pointer := &ten
	address, _ := url.Parse("https://example.com/a?b=c")
	return []typeCase{
		typed("time.Time", when, "", ""),
		typed("*time.Time", &when, "", ""),
		typed("time.Duration", 90*time.Minute, `{"v":"PT1H30M"}`, "").reads(`{"v":5400000000000}`),
		typed("*url.URL", address, "", ""),
		typed("netip.Addr", netip.MustParseAddr("::1"), "", ""),
		typed("netip.Prefix", netip.MustParsePrefix("10.0.0.0/8"), "", ""),
		typed("net.IP", net.IPv4(1, 2, 3, 4), "", ""),
		typed("net.HardwareAddr", net.HardwareAddr{1, 2, 3}, "", ""),
		typed("[]byte", []byte("bytes"), "", ""),
		typed("nil []byte", []byte(nil), `{"v":""}`, "").reads(`{"v":""}`),
		typed("named []byte", hardware("bytes"), "", ""),
		typed("slice of a named byte", []octet{1, 2}, "", ""),
		typed("[4]byte", [4]byte{1, 2, 3, 4}, "", ""),
		typed("named [4]byte", digest{1, 2, 3, 4}, "", ""),
		typed("array with text methods", identity{1, 255}, "", ""),
		typed("json.RawMessage", json.RawMessage(`{"b":[1,null]}`), "", ""),
		typed("nil json.RawMessage", json.RawMessage(nil), "", ""),
		typed("json.Number", json.Number("12345678901234567890"), "", ""),
		typed("empty json.Number", json.Number(""), "", "").reads(`{"v":0}`),
		typed("json.Number in any", any([]any{json.Number("1.50")}), "", "").reads(`{"v":[1.5]}`),
		typed("map of json.Number", map[json.Number]json.Number{"1": "2.0"}, "", ""),
		typed("big.Int", *big.NewInt(7), `{"v":7}`, "").reads(`{"v":{}}`), // its methods are on the pointer
		typed("*big.Int", big.NewInt(7), "", ""),
		typed("*big.Float", big.NewFloat(1.5), "", ""),
		typed("*regexp.Regexp", regexp.MustCompile("a+"), "", ""),
		typed("slog.Level", slog.LevelWarn, "", ""),
		typed("any", any(map[string]any{"b": 1.5, "a": []any{"x", nil, true}}), "", ""),
		typed("[]any", []any{1.5, "a"}, "", ""),
		typed("map[string]any", map[string]any{"z": 1.0, "y": "a", "x": nil}, "", ""),
		typed("nil slice", []string(nil), `{"v":[]}`, "").reads(`{"v":[]}`),
		typed("nil map", map[string]int(nil), `{"v":{}}`, "").reads(`{"v":{}}`),
		typed("map[int]string", map[int]string{10: "b", 9: "a", -1: "c"}, "", ""),
		typed("map[uint8]leaf", map[uint8]leaf{1: {2}}, "", ""),
		typed("map[color]int", map[color]int{1: 2, 0: 1}, "", ""),
		typed("map of a Stringer", map[stringer]int{1: 2}, "", ""),
		typed("map[netip.Addr]int", map[netip.Addr]int{netip.MustParseAddr("::1"): 2}, "", ""),
		typed("enum with text methods", color(1), "", ""),
		typed("[]enum", []color{0, 1}, "", ""),
		typed("writes text only", level(1), "", "").reads("level"),
		typed("int with String", stringer(3), "", ""),
		typed("JSON methods", sealed{3}, "", ""),
		typed("string with JSON methods", byName("n"), "", ""),
		typed("embedded struct", struct {
			base
			Name string
		}{base{"i"}, "n"}, "", ""),
		typed("shadowed", struct {
			base
			ID int
		}{base{"i"}, 2}, "", ""),
		typed("two embedded with one field", struct {
			base
			other
		}{base{"i"}, other{"o", "k"}}, "", ""),
		typed("one embedded twice, below", struct {
			Wrapped
			Also struct{ Embedded }
			Deeper
		}{}, "", ""),
		typed("embedded pointer", struct {
			*Embedded
			Name string
		}{&Embedded{"i"}, "n"}, "", ""),
		typed("embedded with a name", struct {
			base `json:"base"`
		}{base{"i"}}, "", "unexported field"),
		typed("embedded time", dated{when, "n"}, "", ""),
		typed("recursive pointer", itself{&itself{}}, "", ""),
		typed("recursive slice", siblings{[]siblings{{[]siblings{}}}}, "", ""),
		typed("recursive map", family{"a": {"b": {}}}, "", ""),
		typed("mutual", first{&second{&first{}}}, "", ""),
		typed("generic", pageOf[leaf]{Items: []leaf{{1}}, Next: &pageOf[leaf]{Items: []leaf{}}}, "", ""),
		typed("omitted", struct {
			A int       `json:",omitempty"`
			B time.Time `json:",omitzero"`
			C *int      `json:"c,omitempty"`
			D []int     `json:",omitempty"`
			E bool      `json:",omitempty"`
		}{}, "", ""),
		typed("int64 as string", struct {
			N int64 `json:",string"`
		}{1 << 62}, "", ""),
		typed("bool and string as string", struct {
			B bool    `json:",string"`
			S string  `json:",string"`
			P *string `json:",string"`
			F float64 `json:",string"`
		}{true, `a"b`, &word, 0.25}, "", ""),
		typed("json.Number as string", struct {
			N json.Number `json:",string"`
		}{"7"}, "", ""),
		typed("interface with methods", shape(nil), "", "cannot be decoded"),
		typed("error", errors.New("e"), "", "cannot be decoded"),
		typed("fmt.Stringer", fmt.Stringer(stringer(1)), "", "cannot be decoded"),
		typed("*string", &word, "", ""),
		typed("nil *string", (*string)(nil), "", ""),
		typed("left out", struct {
			A int `json:"-"`
			B int
		}{1, 2}, "", ""),
		typed("the name -", struct {
			A int `json:"-,"`
		}{1}, "", `write "-,case:strict"`),
		typed("the name - with an option", struct {
			A int `json:"-,case:strict"`
		}{1}, "", ""),
		typed("trailing comma", struct {
			A int `json:"a,"`
		}{1}, "", "ends with a comma"),
		typed("option of others", struct {
			Embedded `json:",inline"`
			B        int `json:"b,omitempty,flow"`
		}{Embedded{"i"}, 1}, "", "inline"),
		typed("sql.NullString", sql.NullString{String: "a", Valid: true}, "", ""),
		typed("sql.Null[int]", sql.Null[int]{V: 1, Valid: true}, "", ""),
		typed("deep", map[string][]map[string][]leaf{"a": {{"c": {{1}}, "b": {}}}}, "", ""),
		typed("anonymous struct", struct{ A struct{ B int } }{}, "", ""),
		typed("**int", &pointer, "", ""),
		typed("integers", struct {
			I int64
			U uint64
			R rune
			P uintptr
			F float32
		}{-1 << 63, 1<<64 - 1, 'é', 7, 0.1}, "", ""),
		typed("no fields", struct{}{}, "", ""),
		typed("no exported fields", []opaque{}, "", ""),
		typed("tags of others", struct {
			ID   int64    `json:"id" format:"int64" example:"one"`
			Name string   `json:"name" description:"its name" enums:"a,b" default:"a"`
			Tags []string `json:"tags" example:"a,b" minimum:"1" jsonschema:"the tags"`
			Old  string   `json:"old" mcp:"old" pattern:"(?=x)" required:"yes"`
		}{1, "c", []string{}, "o"}, "", "tag"),
		typed("embedded non-struct", struct{ Flag }{true}, "", "needs a JSON name"),
		typed("embedded interface", struct{ fmt.Stringer }{}, "", "needs a JSON name"),
		typed("HTML", "<a href='x'>&\u2028", "", ""),
		typed("a type without its own schema", union{"t"}, "", ""),
	}
}

// Deeper embeds the same type as Wrapped, at the same depth.
type Deeper struct{ Embedded }

func TestGoTypesLeaveToolsAsEncodingJSONWritesThem(t *testing.T) {
	for _, c := range typeCases() {
		want := c.encoded
		if c.differs != "" {
			want = c.differs
		}
		eachEra(t, c.name, c.addOut, func(t *testing.T, client *mcp.Client, tool *mcp.Tool) {
			for range 3 { // maps have a random order
				result, err := client.CallTool(t.Context(), "out", nil)
				if err != nil || result.IsError {
					t.Fatalf("%v, %v", result.Text(), err)
				}
				if !sameText(string(result.StructuredContent), want) || !sameText(result.Text(), want) {
					t.Errorf("\nstructured %s\ntext       %s\nwant       %s", result.StructuredContent, result.Text(), want)
				}
				v, err := schema.Compile(tool.OutputSchema)
				if err == nil {
					err = v.Validate(result.StructuredContent)
				}
				if err != nil {
					t.Errorf("%s does not fit %s: %v", result.StructuredContent, tool.OutputSchema, err)
				}
			}
		})
	}
}

func TestGoTypesGoIntoToolsAsTheyLeaveThem(t *testing.T) {
	for _, c := range typeCases() {
		if panicked := panicOf(func() { c.addIn(mcp.NewServer("s", "1")) }); c.refused != "" || panicked != "" {
			if c.refused == "" || !strings.Contains(panicked, c.refused) {
				t.Errorf("%s: panic %q, want %q", c.name, panicked, c.refused)
			}
			continue
		}
		given, want := c.encoded, c.encoded
		if c.differs != "" {
			given = c.differs
		}
		if c.back != "" {
			want = c.back
		}
		eachEra(t, c.name, c.addIn, func(t *testing.T, client *mcp.Client, _ *mcp.Tool) {
			result, err := client.CallTool(t.Context(), "in", json.RawMessage(given))
			switch {
			case err != nil:
				t.Error(err)
			case want == "level": // the value cannot be decoded, and the error names it
				if !result.IsError || !strings.Contains(result.Text(), "v: expected integer") {
					t.Errorf("%s: %s", given, result.Text())
				}
			case result.IsError || !sameText(result.Text(), want):
				t.Errorf("%s\n got %s\nwant %s", given, result.Text(), want)
			}
		})
	}
}

// sameText compares two texts of JSON, ignoring the escapes of encoding/json for HTML.
func sameText(got, want string) bool {
	return got == strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028").Replace(want) || got == want
}

// eachEra calls f with a client of each era and the one tool, after checking its schemas against
// schema.ts.
func eachEra(t *testing.T, name string, add func(*mcp.Server), f func(*testing.T, *mcp.Client, *mcp.Tool)) {
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(name+" "+revision, func(t *testing.T) {
			s := mcp.NewServer("s", "1")
			add(s)
			client, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Revision: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for tool, err := range client.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				for member, text := range map[string]json.RawMessage{"inputSchema": tool.InputSchema, "outputSchema": tool.OutputSchema} {
					var says struct{ Type any }
					optional := member == "outputSchema" && (text == nil || revision == "2026-07-28")
					if err := json.Unmarshal(text, &says); !optional && (err != nil || says.Type != "object") {
						t.Errorf("%s %s, %v", member, text, err)
					}
				}
				f(t, client, tool)
			}
		})
	}
}

func TestArgumentsAreAnObject(t *testing.T) {
	add := func(f any) func(*mcp.Server) {
		return func(s *mcp.Server) {
			switch f := f.(type) {
			case union:
				mcp.AddTool(s, "in", func(_ context.Context, in union) (string, error) { return in.Text, nil })
			case map[string]string:
				mcp.AddTool(s, "in", func(_ context.Context, in map[string]string) (string, error) { return in["Text"], nil })
			case *leaf:
				mcp.AddTool(s, "in", func(_ context.Context, in *union) (string, error) { return in.Text, nil })
			case json.RawMessage:
				s.AddTool(mcp.Tool{Name: "in", InputSchema: f}, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("t")}}, nil
				})
			default:
				mcp.AddTool(s, "in", func(_ context.Context, in any) (string, error) { return "t", nil })
			}
		}
	}
	for _, in := range []any{union{}, map[string]string{}, &leaf{}, 0, json.RawMessage(nil), json.RawMessage(`{}`), json.RawMessage(`{"properties":{"Text":{}}}`)} {
		eachEra(t, fmt.Sprintf("%T", in), add(in), func(t *testing.T, client *mcp.Client, _ *mcp.Tool) {
			if result, err := client.CallTool(t.Context(), "in", json.RawMessage(`{"Text":"t"}`)); err != nil || result.IsError || result.Text() != "t" {
				t.Errorf("%s, %v", result.Text(), err)
			}
		})
	}
	for _, c := range []struct {
		add  func(*mcp.Server)
		want string
	}{
		{func(s *mcp.Server) {
			mcp.AddTool(s, "in", func(context.Context, dated) (string, error) { return "", nil })
		}, "the embedded time.Time reads all of it, and takes no object: give the field a name"},
		{func(s *mcp.Server) {
			mcp.AddTool(s, "in", func(context.Context, struct {
				*time.Time
				Note string
			}) (string, error) {
				return "", nil
			})
		}, "the embedded *time.Time reads all of it"},
		{func(s *mcp.Server) {
			mcp.AddTool(s, "in", func(context.Context, netip.Addr) (string, error) { return "", nil })
		}, `the type is "string": arguments are an object: use a struct`},
		{func(s *mcp.Server) {
			mcp.AddTool(s, "in", func(context.Context, []string) (string, error) { return "", nil })
		}, "arguments are an object"},
		{add(json.RawMessage(`{"type":"array"}`)), `input schema: the type is "array": arguments are an object`},
		{add(json.RawMessage(`true`)), `expected a schema with "type":"object", got true`},
	} {
		if got := panicOf(func() { c.add(mcp.NewServer("s", "1")) }); !strings.Contains(got, c.want) {
			t.Errorf("panic %q, want %q", got, c.want)
		}
	}
}
