package tui

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// writeCard is a call with everything that a card can show.
func writeCard() host.ApprovalCard {
	yes, no := true, false
	return host.ApprovalCard{
		CallID: "1", Server: "files", Tool: "write", Title: "Write a file", Description: "Writes.\x1b[2J",
		Arguments:   object(`{"path":"/tmp/x","content":"one\ntwo\u200b","mode":{"deep":[1,true,null,"s"]},"empty":{}}`),
		Annotations: mcp.ToolAnnotations{ReadOnlyHint: &no, DestructiveHint: &yes, OpenWorldHint: &no},
		Reasons:     []string{"text of web, which you do not trust, was read before"},
		Always: []host.AlwaysRule{
			{Label: "these arguments", Rule: policy.Rule{Effect: policy.Allow, Server: "files", Tool: "write", When: `args.path == "/tmp/x"`}},
			{Label: "any arguments", Rule: policy.Rule{Effect: policy.Allow, Server: "files", Tool: "write"}},
		},
		Never: []host.AlwaysRule{
			{Label: "these arguments", Rule: policy.Rule{Effect: policy.Deny, Server: "files", Tool: "write", When: `args.path == "/tmp/x"`}},
			{Label: "any arguments", Rule: policy.Rule{Effect: policy.Deny, Server: "files", Tool: "write"}},
		},
		CanTrust: true,
	}
}

func TestTheConsentCardShowsEverything(t *testing.T) {
	play(t, &scripted{}, 80, 30, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, writeCard()) })
		expect(t, "the card", st.frame(), `
── may this call run? ──────────────────────────────────────────────────────────
files · write “Write a file”
! text of web, which you do not trust, was read before
The server says (not checked): writes; may overwrite or delete; no outside
access
arguments:
  path: "/tmp/x"
  mode: {deep: [1, true, null, "s"]}
  empty: {}
  content: 2 lines, 10 bytes (has invisible characters, written out here)
  │ one
  │ two\u200b
description: Writes.\x1b[2J
y yes, once · f yes to all of files, for this question · n Esc no · m more…
↑↓ PgUp PgDn Home End scroll · F1 keys · Ctrl+C cancel
test-model · 0/0 servers, 0 tools · F1 help`)
		cancel()
	})
	play(t, &scripted{}, 40, 18, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, writeCard()) })
		st.keys("m<pgdown><pgdown>")
		expect(t, "the narrow card, scrolled", st.frame(), `
── may this call … · 11–18 of 18 ───────
  │ one
  │ two\u200b
! text of web, which you do not trust,
  was read before
The server says (not checked): writes;
may overwrite or delete; no outside
access
description: Writes.\x1b[2J
y yes, once
f all of this server, for this question
s this session… · a always… · n Esc no
N no, with a note · d never…
t trust this server…
↑↓ PgUp PgDn Home End scroll · F1 keys
Ctrl+C cancel
test-model · 0/0 servers, 0 tools`)
		cancel()
	})
}

// editCard is a small edit, with all that is said about it in many lines.
func editCard() host.ApprovalCard {
	card := writeCard()
	card.Tool, card.Title, card.Description = "edit_file", "Edit a file", strings.Repeat("Makes line-based edits to a text file. ", 8)
	card.Reasons = []string{"it may write and delete; no rule allows it yet",
		"Untrusted text may have led the model to call files/edit_file; it came from files/read_text_file, files/list_directory, what was attached: notes.txt."}
	card.NoRule = "no rule allows it yet"
	card.Arguments = object(`{"path":"/home/ada/list.md","edits":[{"oldText":"- tea\n- milk\n","newText":"- tea\n- coffee\n- milk\n"}]}`)
	return card
}

func TestChangesAreShownBeforeTheirDescription(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {60, 24}} {
		play(t, &scripted{}, size.width, size.height, func(st *stage) {
			got, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, editCard()) })
			for _, want := range []string{"files · edit_file", "! Untrusted text", `path: "/home/ada/list.md"`, "+ - coffee", "y yes, once"} {
				st.holds(want)
			}
			if st.keys("y"); !got.Allow {
				t.Errorf("%d columns: y did not allow it\n%s", size.width, st.frame())
			}
			cancel()
		})
	}
}

func TestCardNamesEffectsOnce(t *testing.T) {
	play(t, &scripted{}, 100, 30, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, editCard()) })
		st.holds("New: no rule allows it yet.\n! Untrusted text")
		st.holds("The server says (not checked): writes; may overwrite or delete; no outside access\n")
		if n := strings.Count(st.frame(), "write") + strings.Count(st.frame(), "delete"); n != 3 { // all in the claim
			t.Errorf("%d words say that it writes:\n%s", n, st.frame())
		}
		cancel()
	})
}

func TestACallIsAllowedOnceItsArgumentsWereInSight(t *testing.T) {
	for _, key := range []string{"y", "s", "a", "t"} {
		play(t, &scripted{}, 40, 14, func(st *stage) {
			got, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, editCard()) })
			st.holds("There is more text below: see its end")
			for range 20 {
				if strings.Contains(st.frame(), "+ - coffee") || len(st.screen.cards) == 0 {
					break
				}
				if st.keys(key); got.Allow {
					t.Fatalf("%s allowed what was not seen", key)
				}
			}
			st.holds("+ - coffee")
			if st.screen.cards[0].(*consentCard).choosing {
				t.Errorf("%s chose before all was seen", key)
			}
			st.keys("<end>" + key + "<enter>")
			if !got.Allow {
				t.Errorf("%s did not allow it:\n%s", key, st.frame())
			}
			cancel()
		})
	}
	play(t, &scripted{}, 40, 14, func(st *stage) {
		got, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, editCard()) })
		if st.keys("n"); got.Allow || len(st.screen.cards) != 0 {
			t.Error("a no needs nothing to be seen")
		}
		cancel()
	})
}

func TestACardSaysWhyNoRuleIsOffered(t *testing.T) {
	play(t, &scripted{}, 80, 30, func(st *stage) {
		card := writeCard()
		card.Always, card.Once = nil, "a secret needs a new answer each time"
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, card) })
		st.holds("Only once: a secret needs a new answer each time.")
		cancel()
	})
}

func TestACardSaysWhichSubAgentWantsTheCall(t *testing.T) {
	card := writeCard()
	card.Agent = "scout\x1b[2J\nof the north"
	play(t, &scripted{}, 80, 30, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, card) })
		st.holds("files · write “Write a file”\nsub-agent: scout")
		st.holds("of the north\n! text of web")
		cancel()
	})
}

func TestArgumentsOfAnyLengthHideNothing(t *testing.T) {
	card := writeCard()
	card.Arguments = object(`{"content":"` + strings.Repeat(`line\n`, 20_000) + `"}`)
	play(t, &scripted{}, 80, 24, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, card) })
		st.holds("The server says (not checked): writes")
		st.holds("description: Writes.")
		cancel()
	})
}

func TestShortMembersAreShownFirst(t *testing.T) {
	for sent, want := range map[string]string{
		`{"content":"a\nb","path":"/x","n":1}`: `{"path":"/x","n":1,"content":"a\nb"}`,
		`{"path":"/x","n":1}`:                  `{"path":"/x","n":1}`,
		`{"a":"1\n2","a":"x"}`:                 `{"a":"1\n2","a":"x"}`, // the last one counts
		`{"a":"1\n2","\u0061":"x"}`:            `{"a":"1\n2","\u0061":"x"}`,
		`["x\ny",1]`:                           `["x\ny",1]`,
		`{"a":`:                                `{"a":`,
		``:                                     ``,
	} {
		if got := string(shortFirst([]byte(sent))); got != want {
			t.Errorf("%s is shown as %s", sent, got)
		}
	}
	card := writeCard()
	card.Arguments = object(`{"content":"` + strings.Repeat(`line\n`, 20_000) + `","path":"/tmp/x"}`)
	play(t, &scripted{}, 80, 24, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, card) })
		st.holds(`path: "/tmp/x"`)
		cancel()
	})
}

func TestVerdicts(t *testing.T) {
	rule := func(i int, effect policy.Effect) *policy.Rule {
		if effect == policy.Deny {
			return &writeCard().Never[i].Rule
		}
		return &writeCard().Always[i].Rule
	}
	for _, test := range []struct {
		name, keys string
		want       host.Verdict
	}{
		{"once", "y", host.Verdict{Allow: true}},
		{"no", "n", host.Verdict{}},
		{"no with Esc", "<esc>", host.Verdict{}},
		{"no, with what to do instead", "Nuse /tmp/y<enter>", host.Verdict{Note: "use /tmp/y"}},
		{"a note that was taken back", "Nabc<esc>y", host.Verdict{Allow: true}},
		{"for the session", "s<enter>", host.Verdict{Allow: true, Rule: rule(1, policy.Allow)}},
		{"always, any arguments", "a<enter>", host.Verdict{Allow: true, Rule: rule(1, policy.Allow), Forever: true}},
		{"always, these arguments", "a<down><enter>", host.Verdict{Allow: true, Rule: rule(0, policy.Allow), Forever: true}},
		{"always, by number", "a2<enter>", host.Verdict{Allow: true, Rule: rule(0, policy.Allow), Forever: true}},
		{"never", "d<down><up><enter>", host.Verdict{Rule: rule(1, policy.Deny), Forever: true}},
		{"always, and then only once", "a<esc>y", host.Verdict{Allow: true}},
		{"trust for the session", "t<enter>", host.Verdict{Allow: true, Trust: true}},
		{"trust for good", "t2<enter>", host.Verdict{Allow: true, Trust: true, Forever: true}},
		{"trust, and then only once", "t<down><esc>y", host.Verdict{Allow: true}},
		{"keys that mean nothing", "<enter><f2><tab>y", host.Verdict{Allow: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, &scripted{}, 80, 24, func(st *stage) {
				got, failed, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, writeCard()) })
				st.keys(test.keys)
				same := (got.Rule == nil) == (test.want.Rule == nil) && (got.Rule == nil || *got.Rule == *test.want.Rule)
				if !same || got.Allow != test.want.Allow || got.Forever != test.want.Forever || got.Trust != test.want.Trust || got.Note != test.want.Note || *failed != nil {
					t.Errorf("got %+v, %v", *got, *failed)
				}
				if reported := strings.Contains(st.scrollback(), "§ "); reported != (test.want.Rule != nil || test.want.Trust) {
					t.Errorf("what holds from now on: %q", st.scrollback())
				}
				cancel()
			})
		})
	}
}

func TestTheRuleIsShownAsItWouldBeWritten(t *testing.T) {
	play(t, &scripted{}, 60, 24, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, writeCard()) })
		st.keys("d<down>")
		expect(t, "the card", st.frame(), `
── deny always: which calls? ───────────────────────────────
  1 any arguments
▸ 2 these arguments
    effect: "deny"
    server: "files"
    tool: "write"
    when: "args.path == \"/tmp/x\""
Enter deny · ↑↓ 1 2 3 … choose · Esc back · F1 keys
Ctrl+C cancel
test-model · 0/0 servers, 0 tools · F1 help`)
		cancel()
	})
}

func TestCardExplainsTrust(t *testing.T) {
	play(t, &scripted{}, 60, 24, func(st *stage) {
		_, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, writeCard()) })
		st.keys("t<down>")
		expect(t, "the card", st.frame(), `
── trust files: until when? ────────────────────────────────
  1 for this session
▸ 2 permanently, with its present command
    This call runs. The server's annotations are taken as
    true, and its definitions and changes are not reviewed.
    Text from outside of it stays untrusted.
Enter trust · ↑↓ 1 2 3 … choose · Esc back · F1 keys
Ctrl+C cancel
test-model · 0/0 servers, 0 tools · F1 help`)
		st.keys("<enter>")
		st.printedText("§ Saved in your policy: trust files")
		cancel()
	})
}

func TestCardOffersUsefulKeys(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*host.ApprovalCard)
		want   string
	}{
		{"all of it", func(*host.ApprovalCard) {}, "y f s a n N d t"},
		{"a secret, which is asked about every time", func(c *host.ApprovalCard) { c.Always = nil }, "y n N d t"},
		{"a call that no rule can be made for", func(c *host.ApprovalCard) { c.Always, c.Never = nil, nil }, "y n N t"},
		{"a server that is trusted", func(c *host.ApprovalCard) { c.CanTrust = false }, "y f s a n N d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, &scripted{}, 200, 24, func(st *stage) {
				card := writeCard()
				test.change(&card)
				got, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, card) })
				if strings.Contains(st.frame(), "m more…") {
					st.keys("m")
				}
				_, foot, _ := strings.Cut(st.frame(), "\ny yes, once")
				foot, _, _ = strings.Cut("y"+foot, " · ↑↓ PgUp")
				var keys []string
				for _, offer := range strings.Split(foot, " · ") {
					key, _, _ := strings.Cut(offer, " ")
					keys = append(keys, key)
				}
				if offered := strings.Join(keys, " "); offered != test.want {
					t.Errorf("offered: %s", offered)
				}
				for _, key := range []string{"s", "a", "d", "t"} {
					if !slices.Contains(keys, key) {
						st.keys(key)
						st.holds("You were typing") // it is none of the card
						st.wait(time.Second)
						st.keys("<tab>")
						st.wait(time.Second)
						continue
					}
					st.keys(key + "<esc>")
				}
				st.keys("?")
				for _, key := range []string{"s", "a", "d", "t"} {
					if shown := strings.Contains(st.frame(), "\n"+key+" "); shown != slices.Contains(keys, key) {
						t.Errorf("the help has %s: %v\n%s", key, shown, st.frame())
					}
				}
				st.keys("<esc>y")
				if !got.Allow {
					t.Error("it was allowed")
				}
				cancel()
			})
		})
	}
}

func TestTheFootOfACardNamesAllItsKeys(t *testing.T) {
	cards := map[string]func(st *stage) func(ctx context.Context) (bool, error){
		"a call": func(st *stage) func(ctx context.Context) (bool, error) {
			return func(ctx context.Context) (bool, error) { _, err := st.ui.Consent(ctx, writeCard()); return false, err }
		},
		"a review": func(st *stage) func(ctx context.Context) (bool, error) {
			return func(ctx context.Context) (bool, error) {
				_, err := st.ui.Review(ctx, eightServers())
				return false, err
			}
		},
		"sampling": func(st *stage) func(ctx context.Context) (bool, error) {
			return func(ctx context.Context) (bool, error) { return st.ui.Sample(ctx, host.Sampling{Server: "s"}) }
		},
		"a page": func(st *stage) func(ctx context.Context) (bool, error) {
			return func(ctx context.Context) (bool, error) {
				_, err := st.ui.Elicit(ctx, host.Form{Server: "s", Request: mcp.ElicitRequest{Mode: "url", Message: "Go", URL: "https://example.com"}})
				return false, err
			}
		},
	}
	for name, shown := range cards {
		t.Run(name, func(t *testing.T) {
			play(t, &scripted{}, 120, 50, func(st *stage) {
				_, _, cancel := asks(st, shown(st))
				if strings.Contains(st.frame(), "m more…") {
					st.keys("m")
				}
				_, foot, _ := strings.Cut(st.frame(), "\ny ")
				foot = "y " + foot
				for _, row := range append(st.screen.cards[0].keys(), [2]string{"F1", ""}, [2]string{"Ctrl+C", ""}) {
					for key := range strings.FieldsSeq(row[0]) {
						if !slices.Contains(strings.Fields(foot), key) {
							t.Errorf("%s is not in %s", key, foot)
						}
					}
				}
				cancel()
			})
		})
	}
}

func TestAYesForTheQuestionIsOneKey(t *testing.T) {
	play(t, &scripted{}, 80, 30, func(st *stage) {
		card := writeCard()
		card.Reads = true
		widest := card.Always[len(card.Always)-1]
		got, _, cancel := asks(st, func(ctx context.Context) (host.Verdict, error) { return st.ui.Consent(ctx, card) })
		if frame := st.frame(); !strings.Contains(frame, "You confirmed in a review that it only reads; the server does not declare it") {
			t.Errorf("the card does not say why it counts as reading:\n%s", frame)
		}
		st.keys("f")
		if got.Rule == nil || *got.Rule != widest.Rule || !got.Allow || !got.Question || got.Forever || got.Trust {
			t.Errorf("answered %+v", *got)
		}
		st.printedText("§ Until this question is answered: allow files: " + widest.Label)
		cancel()
	})
}
