package integration

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/replay"
)

// talkOnScreen is what the model says in a conversation in which the person is asked for
// consent, fills in a form, and interrupts.
func talkOnScreen() []replay.Turn {
	return []replay.Turn{
		{Expect: asked("Who are you"), Text: "I am **a recording**, and I speak slowly. LATER I have said all."},
		{Expect: replay.Expect{Last: "user", Contains: []string{"two and forty"}, Tools: []string{"add"}}, Calls: callOf("add", object{"a": 2, "b": 40})},
		{Expect: returned("42"), Then: saying("The sum is %s.", `[0-9]+`)},
		{Expect: asked(), Calls: callOf("update-resource", nil)},
		{Expect: returned("1"), Text: "It is counted."},
		{Expect: asked(), Calls: callOf("update-resource", nil)},
		{Expect: returned("2"), Calls: callOf("update-resource", nil)},
		{Expect: returned("3"), Text: "Both are counted."},
		{Expect: asked(), Calls: callOf("ask", nil)},
		{Expect: returned("Ada Lovelace"), Then: saying("Your name is %s.", `name...([A-Za-z ]+)`)},
		{Expect: asked(), Calls: callOf("wait", object{"milliseconds": 600000})},
		{Expect: asked("Still there"), Text: "Yes, and nothing is running."},
		{Expect: asked("Do you remember"), Text: "You are back, and I remember all."},
	}
}

// A whole conversation at a terminal: an answer that is streamed, consent for one call and
// for the session, a form of a server, a run that is cancelled, the end, and the same
// conversation resumed.
func TestConversationOnAScreen(t *testing.T) {
	t.Parallel()
	slow := &gate{Handler: replay.Handler(talkOnScreen()...), word: "LATER", open: make(chan struct{})}
	endpoint := httptest.NewServer(slow)
	t.Cleanup(endpoint.Close)
	chat := newChat(t, map[string][]string{"everything": {junction(t), "serve", "everything", "--stdio"}}, nil,
		"--base-url", endpoint.URL+"/v1", "--model", "recorded", "--theme", "mono")
	s := chat.onScreen(t)

	s.see("recorded", "0/1 servers") // it is new, and was not approved
	s.enter("Who are you?")
	s.answer("y", "New server “everything”")
	s.see("I am a recording", "1/1 servers")
	s.gone("LATER")
	close(slow.open)
	s.see("LATER I have said all.")
	s.consents()
	s.fillsIn()
	s.cancels()
	children := descendants(t, s.pid())
	if len(children) != 2 {
		t.Errorf("there are the processes %v, want the chat and its server", children)
	}
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	areGone(t, children)
	resumed := chat.onScreen(t, "--resume")
	resumed.see("Yes, and nothing is running.")
	for _, text := range []string{"Who are you?", "The sum is 42.", "Your name is Ada Lovelace.", "Still there?"} {
		if !strings.Contains(words(resumed.history()), text) {
			t.Errorf("%q is not in what was resumed:\n%s", text, resumed.history())
		}
	}
	resumed.enter("Do you remember?")
	resumed.see("You are back, and I remember all.")
	resumed.press("C-d")
	if code := resumed.ended(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
}

// onScreen starts the chat at a terminal.
func (c *chat) onScreen(t *testing.T, more ...string) *screen {
	t.Helper()
	return newScreen(t, c.env, c.home, append(append([]string{junction(t), "chat"}, c.args...), more...)...)
}

// consents is not asked about what only reads, says yes to what writes, and then for the
// session.
func (s *screen) consents() {
	s.t.Helper()
	s.enter("What are two and forty?")
	s.see("The sum is 42.")
	s.enter("Count.")
	s.answer("y", "may this call run?", "everything · update-resource")
	s.see("It is counted.")
	s.enter("Count twice.")
	s.answer("s", "may this call run?", "everything · update-resource")
	s.see("for this session", "this tool, with any arguments")
	s.see("▸ 1")
	s.press("Enter")
	s.see("Both are counted.") // the second was not asked about
}

// fillsIn fills in a form; what does not fit is said at the field.
func (s *screen) fillsIn() {
	s.t.Helper()
	s.enter("Ask me something.")
	s.see("everything asks you", "▸ Name")
	time.Sleep(soon)
	s.do("send-keys", "-l", "Ada Lovelace")
	s.press("Enter")
	s.see("▸ E-mail")
	s.do("send-keys", "-l", "nobody")
	s.press("Enter")
	s.see("✗")
	s.press("C-u")
	s.do("send-keys", "-l", "ada@example.com")
	s.press("Enter")
	s.see("▸ Website")
	for range 9 {
		s.press("Tab")
	}
	s.see("[ Send ]")
	s.press("Enter")
	s.see("send this to everything?", `name: "Ada Lovelace"`)
	s.press("y")
	s.see("Your name is Ada Lovelace.")
}

// cancels interrupts a call that would take ten minutes, and asks on.
func (s *screen) cancels() {
	s.t.Helper()
	s.enter("Wait for me.")
	s.see("everything · wait", "waiting") // "waiting" alone is there before the model has answered
	s.press("C-c")
	s.see("cancelled")
	s.enter("Still there?")
	s.see("Yes, and nothing is running.")
}
