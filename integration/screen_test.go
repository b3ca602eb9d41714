package integration

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/model/replay"
)

// talkOnScreen is what the model says in a conversation in which the person is asked for
// consent, fills in a form, and interrupts.
const talkOnScreen = `{"turns": [
  {"expect": {"last": "user", "contains": ["Who are you"]}, "text": "I am **a recording**, and I speak slowly. LATER I have said all."},
  {"expect": {"last": "user", "contains": ["two and forty"], "tools": ["add"]}, "calls": [{"name": "add", "arguments": {"a": 2, "b": 40}}]},
  {"expect": {"last": "tool", "contains": ["42"]}, "text": "The sum is ${match(result, ` + "`[0-9]+`" + `)}."},
  {"expect": {"last": "user"}, "calls": [{"name": "echo", "arguments": {"message": "first echo"}}]},
  {"expect": {"last": "tool", "contains": ["first echo"]}, "calls": [{"name": "echo", "arguments": {"message": "second echo"}}]},
  {"expect": {"last": "tool", "contains": ["second echo"]}, "text": "Both have echoed."},
  {"expect": {"last": "user"}, "calls": [{"name": "ask", "arguments": {}}]},
  {"expect": {"last": "tool", "contains": ["Ada Lovelace"]}, "text": "Your name is ${match(result, ` + "`name...([A-Za-z ]+)`" + `)}."},
  {"expect": {"last": "user"}, "calls": [{"name": "wait", "arguments": {"milliseconds": 600000}}]},
  {"expect": {"last": "user", "contains": ["Still there"]}, "text": "Yes, and nothing is running."},
  {"expect": {"last": "user", "contains": ["Do you remember"]}, "text": "You are back, and I remember all."}
]}`

// A whole conversation at a terminal: an answer that is streamed, consent for one call and
// for the session, a form of a server, a run that is cancelled, the end, and the same
// conversation resumed.
func TestConversationOnAScreen(t *testing.T) {
	recording, err := replay.Parse([]byte(talkOnScreen))
	if err != nil {
		t.Fatal(err)
	}
	slow := &gate{Handler: replay.Handler(recording), word: "LATER", open: make(chan struct{})}
	endpoint := httptest.NewServer(slow)
	t.Cleanup(endpoint.Close)
	chat := newChat(t, map[string][]string{"everything": {junction(t), "serve", "everything", "--stdio"}}, "",
		"--base-url", endpoint.URL+"/v1", "--model", "recorded", "--theme", "mono")
	s := chat.onScreen(t)

	s.see("recorded", "0/1 servers") // it is new, and was not approved
	s.enter("Who are you?")
	s.answer("y", "everything is new")
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

// consents says yes once, and then for the session.
func (s *screen) consents() {
	s.t.Helper()
	s.enter("What are two and forty?")
	s.answer("y", "may this call run?", "everything · add", "a: 2", "b: 40")
	s.see("The sum is 42.")
	s.enter("Echo twice.")
	s.answer("s", "may this call run?", "first echo")
	s.see("for this session", "this tool, with any arguments")
	s.press("2")
	s.see("▸ 2")
	s.press("Enter")
	s.see("Both have echoed.") // the second was not asked about
}

// fillsIn fills in a form; what does not fit is said at the field.
func (s *screen) fillsIn() {
	s.t.Helper()
	s.enter("Ask me something.")
	s.answer("y", "may this call run?", "everything · ask")
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
	s.see("Your name is Ada Lovelace.")
}

// cancels interrupts a call that would take ten minutes, and asks on.
func (s *screen) cancels() {
	s.t.Helper()
	s.enter("Wait for me.")
	s.answer("y", "may this call run?", "everything · wait")
	s.see("waiting")
	s.press("C-c")
	s.see("cancelled")
	s.enter("Still there?")
	s.see("Yes, and nothing is running.")
}
