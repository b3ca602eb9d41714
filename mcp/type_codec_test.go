package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// urls is the codec of a type whose own form in JSON is of no use.
var urls = mcp.CodecOf(json.RawMessage(`{"type":"string","format":"uri"}`),
	func(u url.URL) (json.RawMessage, error) { return json.Marshal(u.String()) },
	func(text json.RawMessage) (u url.URL, err error) {
		var s string
		if err = json.Unmarshal(text, &s); err != nil {
			return u, err
		}
		parsed, err := url.Parse(s)
		if err != nil || !parsed.IsAbs() {
			return u, errors.New("expected an absolute URL")
		}
		return *parsed, nil
	})

// nanoseconds is the form that encoding/json has for a duration.
var nanoseconds = mcp.CodecOf(json.RawMessage(`{"type":"integer"}`),
	func(d time.Duration) (json.RawMessage, error) { return json.Marshal(int64(d)) },
	func(text json.RawMessage) (d time.Duration, err error) {
		return d, json.Unmarshal(text, (*int64)(&d))
	})

type fetched struct {
	Page   url.URL            `json:"page"`
	Links  []*url.URL         `json:"links"`
	Others map[string]url.URL `json:"others,omitempty"`
	Took   time.Duration      `json:"took"`
	Size   *big.Int           `json:"size"`
}

func TestTypesOfOtherModulesHaveTheirCodec(t *testing.T) {
	type in struct {
		Page url.URL       `json:"page" default:"https://example.com/"`
		Wait time.Duration `json:"wait,omitempty"`
	}
	o := mcp.ServerOptions{TypeCodecs: []mcp.TypeCodec{urls, nanoseconds}, TypeSchemas: mcp.TypeSchemas{reflect.TypeFor[big.Int](): json.RawMessage(`{"type":"integer"}`)}}
	for name, serve := range map[string]func(*mcp.Server, mcp.Tool, func(context.Context, in) (fetched, error)){
		"alone": mcp.AddToolWith[in, fetched],
		"as text": func(s *mcp.Server, t mcp.Tool, f func(context.Context, in) (fetched, error)) {
			t.TextOnly = true
			mcp.AddToolWith(s, t, f)
		},
		"in anything": func(s *mcp.Server, t mcp.Tool, f func(context.Context, in) (fetched, error)) {
			mcp.AddToolWith(s, t, func(ctx context.Context, i in) (any, error) { return f(ctx, i) })
		},
		"in an Output": func(s *mcp.Server, t mcp.Tool, f func(context.Context, in) (fetched, error)) {
			mcp.AddToolWith(s, t, func(ctx context.Context, i in) (mcp.Output[fetched], error) {
				value, err := f(ctx, i)
				return mcp.Output[fetched]{Value: value, Meta: json.RawMessage(`{"a":1}`)}, err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := mcp.NewServerWith("fetch", "1", o)
			serve(s, mcp.Tool{Name: "fetch"}, func(_ context.Context, i in) (fetched, error) {
				return fetched{Page: i.Page, Links: []*url.URL{&i.Page, nil}, Took: i.Wait, Size: big.NewInt(7)}, nil
			})
			if got := string(s.Tool("fetch").InputSchema); !strings.Contains(got, `"page":{"type":"string","format":"uri"`) || !strings.Contains(got, `"wait":{"type":"integer"}`) {
				t.Errorf("the schema is %s", got)
			}
			c := connected(t, stream.Pipe(s), mcp.ClientOptions{TypeCodecs: []mcp.TypeCodec{urls, nanoseconds}}, modern)
			result, err := c.CallTool(t.Context(), "fetch", map[string]any{"wait": time.Second})
			if want := `{"page":"https://example.com/","links":["https://example.com/",null],"took":1000000000,"size":7}`; err != nil || result.Text() != want {
				t.Errorf("the result is %s, %v, expected %s", result.Text(), err, want)
			}
			got, err := mcp.Call[fetched](t.Context(), c, "fetch", in{Page: url.URL{Scheme: "https", Host: "example.com"}, Wait: time.Minute})
			if err != nil || got.Page.Host != "example.com" || got.Took != time.Minute {
				t.Errorf("the result is %+v, %v", got, err)
			}
			result, err = c.CallTool(t.Context(), "fetch", map[string]any{"page": "nowhere"})
			if err != nil || !result.IsError || !strings.Contains(result.Text(), "page: expected") || !strings.Contains(result.Text(), "absolute URL") {
				t.Errorf("the result of a wrong argument is %q, %v", result.Text(), err)
			}
		})
	}
}

// Servers of one program do not share their codecs.
func TestCodecsBelongToOneServer(t *testing.T) {
	s := mcp.NewServer("plain", "1")
	mcp.AddTool(s, "wait", func(_ context.Context, in struct{ For time.Duration }) (string, error) { return in.For.String(), nil })
	result, err := mcp.NewClient(s).CallTool(t.Context(), "wait", map[string]string{"For": "PT1S"})
	if err != nil || result.Text() != "1s" {
		t.Errorf("the result is %v, %v", result, err)
	}
}

func TestMistakesInCodecsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"twice":       func() { mcp.NewServerWith("s", "1", mcp.ServerOptions{TypeCodecs: []mcp.TypeCodec{urls, urls}}) },
		"the zero":    func() { mcp.NewServerWith("s", "1", mcp.ServerOptions{TypeCodecs: []mcp.TypeCodec{{}}}) },
		"no function": func() { mcp.CodecOf[url.URL](json.RawMessage(`{}`), nil, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestArgumentsOutsideOfIn(t *testing.T) {
	type in struct {
		Query string `json:"query"`
	}
	find := func(ctx context.Context, i in) (string, error) {
		return i.Query + " " + string(mcp.RequestFrom(ctx).Arguments), nil
	}
	written := json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"org":{"type":"integer","default":1}},"required":["query"],"additionalProperties":false}`)
	for _, tt := range []struct {
		name      string
		schema    json.RawMessage
		arguments string
		want      string
	}{
		{"any", nil, `{"query":"a","org":[2]}`, `a {"query":"a","org":[2]}`},
		{"any, and a wrong one", nil, `{"query":1,"org":2}`, `query: expected string, got 1`},
		{"written", written, `{"query":"a","org":2}`, `a {"query":"a","org":2}`},
		{"written, with a default", written, `{"query":"a"}`, `a {"query":"a","org":1}`},
		{"written, and a wrong one", written, `{"query":"a","org":"x"}`, `org: expected integer, got "x"`},
		{"written, and an unknown one", written, `{"query":"a","other":1}`, `other: unknown member, expected one of query, org`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mcp.NewServer("find", "1")
			mcp.AddToolWith(s, mcp.Tool{Name: "find", InputSchema: tt.schema, MoreArguments: true}, find)
			result, err := mcp.NewClient(s).CallTool(t.Context(), "find", json.RawMessage(tt.arguments))
			if err != nil || result.Text() != tt.want {
				t.Errorf("the result is %q, %v, expected %q", result.Text(), err, tt.want)
			}
		})
	}
	defer func() {
		if recover() == nil {
			t.Error("a written schema with more arguments is accepted without MoreArguments")
		}
	}()
	mcp.AddToolWith(mcp.NewServer("find", "1"), mcp.Tool{Name: "find", InputSchema: written}, find)
}

// A scale defines its own schema.
type scale string

func (scale) MCPSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","enum":["celsius","kelvin"],"default":"kelvin"}`)
}

func TestDefaultsOfTypesWithTheirOwnSchema(t *testing.T) {
	s := mcp.NewServer("weather", "1")
	mcp.AddTool(s, "units", func(_ context.Context, in struct {
		Unit  scale  `json:"unit" default:"celsius" example:"kelvin"`
		Other *scale `json:"other" default:"celsius"`
	}) (string, error) {
		return string(in.Unit) + " " + string(*in.Other), nil
	})
	if got := string(s.Tool("units").InputSchema); !strings.Contains(got, `"enum":["celsius","kelvin"],"default":"celsius","examples":["kelvin"]}`) {
		t.Errorf("the schema is %s", got)
	}
	result, err := mcp.NewClient(s).CallTool(t.Context(), "units", nil)
	if err != nil || result.Text() != "celsius celsius" {
		t.Errorf("the result is %q, %v", result.Text(), err)
	}
}
