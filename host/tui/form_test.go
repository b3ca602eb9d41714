package tui

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

const everyField = `{"type":"object","required":["name","size"],"properties":{
	"name":{"type":"string","title":"Your name","minLength":2,"description":"As in a letter."},
	"age":{"type":"integer","minimum":1},"mail":{"type":"string","format":"email","default":"a@b.example"},
	"size":{"type":"string","oneOf":[{"const":"s","title":"small"},{"const":"l","title":"large"}]},
	"colours":{"type":"array","items":{"enum":["red","green"]},"default":["green"]},
	"sure":{"type":"boolean"}}}`

func TestForms(t *testing.T) {
	request := mcp.ElicitRequest{Message: "Who are you?", RequestedSchema: json.RawMessage(everyField)}
	for _, test := range []struct{ name, keys, action, content string }{
		{"filled in", "Ada<enter>36<enter><enter><right><right><enter><left><space><enter><space><enter><enter>y", "accept",
			`{"name":"Ada","age":36,"mail":"a@b.example","size":"l","colours":["red","green"],"sure":true}`},
		{"with what is required only", "Ada<tab><tab><ctrl+u><tab><right><tab><backspace><tab><tab><enter>y", "accept", `{"name":"Ada","size":"s"}`},
		{"sent too early, then mended", "<tab><tab><tab><tab><tab><tab><enter>Ada<enter><tab><tab><space><enter><enter><enter><enter>y", "accept",
			`{"name":"Ada","mail":"a@b.example","size":"s","colours":["green"]}`},
		{"declined when it was seen whole", "Ada<tab><tab><tab><right><tab><tab><tab><enter>n", "decline", ""},
		{"edited when it was seen whole", "Ada<tab><tab><tab><right><tab><tab><tab><enter>e<ctrl+u>Eve<tab><tab><tab><tab><tab><tab><enter>y", "accept",
			`{"name":"Eve","mail":"a@b.example","size":"s","colours":["green"]}`},
		{"declined", "<tab><tab><tab><tab><tab><tab><tab><enter>", "decline", ""},
		{"cancelled", "<esc>", "cancel", ""},
		{"cancelled by the second Esc, as something was typed", "Ada<esc><esc>", "cancel", ""},
		{"one Esc discards nothing", "Ada<esc><tab><esc><tab><tab><tab><tab><tab><tab><enter>", "decline", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, &scripted{}, 80, 40, func(st *stage) {
				got, failed, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
					return st.ui.Elicit(ctx, host.Form{Server: "web", Request: request})
				})
				st.keys(test.keys)
				if *got == nil || (*got).Action != test.action || string((*got).Content) != test.content {
					t.Errorf("got %+v, %v\n%s", *got, *failed, st.frame())
				}
				cancel()
			})
		})
	}
}

func TestFormReportsErrors(t *testing.T) {
	play(t, &scripted{}, 60, 45, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
			return st.ui.Elicit(ctx, host.Form{Server: "web", Request: mcp.ElicitRequest{Message: "Who?", RequestedSchema: json.RawMessage(everyField)}, Warnings: []string{"it asks for a secret"}})
		})
		st.keys("A<enter>")
		expect(t, "the form", st.frame(), `
── web asks you ────────────────────────────────────────────
│ Who?
! it asks for a secret

▸ Your name (text, at least 2 characters, required)
  As in a letter.
  > A
  ✗ expected string of at least 2 characters, got "A"

  age (integer, at least 1, optional)
  >

  mail (email, optional)
  > a@b.example

  size (one of these, required)
  ( ) small   ( ) large

  colours (any of these, optional)
  [ ] red   [x] green

  sure (one of these, optional)
  ( ) yes   ( ) no

[ Send ]  [ Decline ]
Tab Shift+Tab field · Space ← → choose · Enter next
Esc cancel · F1 keys · Ctrl+C cancel
test-model · 0/0 servers, 0 tools · F1 help`)
		cancel()
	})
}

// Whoever types sees what: in a form that is longer than the screen, all of the field that has the
// keys is in sight.
func TestTheFieldThatHasTheKeysIsInSight(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"born":{"type":"string","description":"Your date of birth"},"mail":{"type":"string","description":"Your address (it will be verified, and never shared; who may have it is in the terms of this shop, which its page links)"},
		"pet":{"enum":["cat","dog"],"description":"Your favourite"},"age":{"type":"integer","description":"In years"}}}`
	for height := 12; height < 24; height++ {
		play(t, &scripted{}, 80, height, func(st *stage) {
			_, _, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
				return st.ui.Elicit(ctx, host.Form{Server: "web", Request: mcp.ElicitRequest{Message: "Who are you?", RequestedSchema: json.RawMessage(schema)}})
			})
			for _, field := range []struct{ head, end string }{{"▸ born", "\n  >"}, {"▸ mail", "\n  >"}, {"▸ pet", "( ) cat"}, {"▸ age", "\n  >"}, {"", "[ Send ]"}, {"", "[ Decline ]"}} {
				if _, rest, found := strings.Cut(st.frame(), field.head); !found || !strings.Contains(rest, field.end) {
					t.Errorf("%d rows: from %q to %q not all is in sight:\n%s", height, field.head, field.end, st.frame())
				}
				st.keys("<tab>")
			}
			cancel()
		})
	}
}

func TestEnterAloneSendsNoForm(t *testing.T) {
	const secrets = `{"properties":{"password":{"type":"string","default":"hunter2"},"note":{"type":"string"},"lines":{"type":"string","default":"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16"}}}`
	play(t, &scripted{}, 80, 20, func(st *stage) {
		got, _, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
			return st.ui.Elicit(ctx, host.Form{Server: "web", Request: mcp.ElicitRequest{Message: "Log in", RequestedSchema: object(secrets)}})
		})
		st.keys(strings.Repeat("<enter>", 10))
		if *got != nil {
			t.Fatalf("Enter alone sent %s", (*got).Content)
		}
		st.holds("send this to web?")
		st.holds(`password: "hunter2"`)
		st.keys("y")
		if *got != nil {
			t.Fatal("it was sent before all of it was in sight")
		}
		st.holds("left out: note")
		st.keys("y")
		if *got == nil || (*got).Action != "accept" {
			t.Errorf("got %+v", *got)
		}
		cancel()
	})
}

func TestASecretInAFormIsNotShown(t *testing.T) {
	const schema = `{"properties":{"PIN":{"type":"string","minLength":6},"author":{"type":"string"}},"required":["PIN"]}`
	play(t, &scripted{}, 80, 20, func(st *stage) {
		got, _, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
			return st.ui.Elicit(ctx, host.Form{Server: "web", Request: mcp.ElicitRequest{Message: "Log in", RequestedSchema: object(schema)}})
		})
		hides := func(secret string) {
			t.Helper()
			if frame := st.frame(); strings.Contains(frame, secret) {
				t.Errorf("%q is shown:\n%s", secret, frame)
			}
		}
		st.keys("4711<enter>")
		st.holds("> ••••")
		st.holds("✗ expected text, at least 6 characters, required")
		hides("4711")
		st.keys("23<enter>Ada<enter>")
		st.holds("> ••••••")
		st.holds("> Ada")
		hides("4711")
		st.keys("<enter>")
		st.holds(`PIN: "6 characters, not shown"`)
		hides("4711")
		st.keys("y")
		if *got == nil || string((*got).Content) != `{"PIN":"471123","author":"Ada"}` {
			t.Errorf("got %+v", *got)
		}
		cancel()
	})
}

func TestARequiredTextIsNotEmptyByAccident(t *testing.T) {
	for keys, want := range map[string]string{"<enter><enter>y": "", `""<enter><enter>y`: `{"name":""}`, "Ada<enter><enter>y": `{"name":"Ada"}`} {
		play(t, &scripted{}, 80, 20, func(st *stage) {
			got, _, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
				return st.ui.Elicit(ctx, host.Form{Server: "web", Request: mcp.ElicitRequest{Message: "Who?", RequestedSchema: object(`{"properties":{"name":{"type":"string"}},"required":["name"]}`)}})
			})
			st.holds("name (text, required)")
			st.keys(keys)
			if (*got == nil) != (want == "") || *got != nil && string((*got).Content) != want {
				t.Errorf("%s: got %+v", keys, *got)
			}
			cancel()
		})
	}
}

func TestKeysThatTypeNothingLeaveAFormAsItIs(t *testing.T) {
	play(t, &scripted{}, 80, 24, func(st *stage) {
		got, _, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
			return st.ui.Elicit(ctx, host.Form{Server: "web", Request: mcp.ElicitRequest{RequestedSchema: object(`{"properties":{"name":{"type":"string"},"sure":{"type":"boolean"}},"required":["name"]}`)}})
		})
		st.keys("<enter><f2><left>")
		st.holds("✗ this is required")
		st.keys("<tab><f2><esc>")
		if *got == nil || (*got).Action != mcp.ElicitCancel {
			t.Errorf("got %+v, with the form\n%s", *got, st.frame())
		}
		cancel()
	})
}

func TestPages(t *testing.T) {
	for _, test := range []struct{ name, url, keys, action, shown string }{
		{"visited", "https://example.com/login?x=1", "y", "accept", "https://example.com/login?x=1"},
		{"declined", "https://example.com/", "n", "decline", "host: example.com"},
		{"cancelled", "https://example.com/", "<esc>", "cancel", "Junction does not open it"},
		{"doubtful", "http://user@xn--80ak6aa92e.com/", "n", "decline", "alphabets"},
		{"no page at all", "javascript:alert(1)", "n", "decline", "not an http or https"},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, &scripted{}, 80, 24, func(st *stage) {
				got, _, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
					return st.ui.Elicit(ctx, host.Form{Server: "web", Request: mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: "Log in", URL: test.url}})
				})
				st.holds(test.shown)
				st.keys(test.keys)
				if *got == nil || (*got).Action != test.action || strings.HasPrefix(test.url, "java") && strings.Contains(st.frame(), "alert") {
					t.Errorf("got %+v", *got)
				}
				cancel()
			})
		})
	}
}

func TestEnterAfterAPauseSendsAForm(t *testing.T) {
	play(t, &scripted{}, 80, 24, func(st *stage) {
		got, _, cancel := asks(st, func(ctx context.Context) (*mcp.ElicitResult, error) {
			return st.ui.Elicit(ctx, host.Form{Server: "web", Request: mcp.ElicitRequest{Message: "Who?", RequestedSchema: object(`{"properties":{"name":{"type":"string","default":"Ada"}}}`)}})
		})
		st.keys("<enter><enter>")
		st.holds("send this to web?")
		st.keys("<enter>")
		st.holds("Enter again, after a pause, sends this")
		if *got != nil {
			t.Fatal("it was sent by an Enter that followed at once")
		}
		st.wait(quietTime)
		st.keys("<enter>")
		if *got == nil || (*got).Action != "accept" || string((*got).Content) != `{"name":"Ada"}` {
			t.Errorf("got %+v", *got)
		}
		cancel()
	})
}
