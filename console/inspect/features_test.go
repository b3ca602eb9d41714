package inspect

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// object is a JSON object in a test.
type object = map[string]any

// begins begins a request, and returns its number.
func (c *console) begins(path string, body object) string {
	c.t.Helper()
	return text(c.do("POST", path+"/requests", body, http.StatusAccepted), "request")
}

// calls begins a call of a tool.
func (c *console) calls(path, tool string, arguments object) string {
	c.t.Helper()
	return c.begins(path, object{"method": "tools/call", "params": object{"name": tool, "arguments": arguments}})
}

// next waits for an event with a name after another event, and returns it.
func (c *console) next(path string, after uint64, name string) happened {
	c.t.Helper()
	all := c.events(path, after, func(e happened) bool { return e.name == name })
	return all[len(all)-1]
}

func TestRequestsOfAServerAreAnsweredOnThePage(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, _ string) {
		n := c.calls(path, "ask", nil)
		q := c.next(path, 0, "question")
		if got := text(q.data, "kind") + " " + text(q.data, "request"); got != "elicitation "+n {
			t.Errorf("got %s, want elicitation %s", got, n)
		}
		at := path + "/answers/" + text(q.data, "question")
		open := c.do("GET", path+"/questions", nil, http.StatusOK)
		if !strings.Contains(text(open, "questions"), `"requestedSchema"`) {
			t.Errorf("the open questions are %s", open)
		}
		c.do("POST", at, object{"action": "perhaps"}, http.StatusBadRequest)
		refused := c.do("POST", at, object{"action": "accept", "content": object{"name": 3}}, http.StatusUnprocessableEntity)
		if got := text(refused, "error"); !strings.Contains(got, "name") {
			t.Errorf("the error is %q", got)
		}
		c.do("POST", at, object{"action": "accept", "content": object{"name": "Ada", "age": 36, "height": 1.6}}, http.StatusNoContent)
		if got := text(c.next(path, 0, "answered").data, "action"); got != "accept" {
			t.Errorf("the answer was %q", got)
		}
		if got := c.result(path, n); !strings.Contains(text(got, "result.content"), "Ada") {
			t.Errorf("the result is %s", got)
		}
		c.do("POST", at, object{"action": "cancel"}, http.StatusNotFound)

		for _, test := range []struct {
			tool, kind string
			arguments  object
			answer     object
			want       string
		}{
			{"ask-url", "elicitation", nil, object{"action": "accept"}, ": accept."},
			{"ask", "elicitation", nil, object{"action": "decline"}, "The user declined"},
			{"ask", "elicitation", nil, object{"action": "cancel"}, "The user dismissed"},
			{"sample", "sampling", object{"prompt": "x"}, object{"action": "accept", "result": object{"role": "assistant", "model": "a person", "content": object{"type": "text", "text": "well"}}}, "a person said: well"},
			{"list-roots", "roots", nil, object{"action": "accept", "roots": []object{{"uri": "file:///here", "name": "Here"}}}, "file:///here"},
		} {
			last := c.last(path)
			n := c.calls(path, test.tool, test.arguments)
			q := c.next(path, last, "question")
			if got := text(q.data, "kind"); got != test.kind {
				t.Errorf("%s: got %s, want %s", test.tool, got, test.kind)
			}
			c.do("POST", path+"/answers/"+text(q.data, "question"), test.answer, http.StatusNoContent)
			if got := c.result(path, n); !strings.Contains(text(got, "result.content"), test.want) {
				t.Errorf("%s: the result is %s, want %q", test.tool, got, test.want)
			}
		}
		last := c.last(path)
		n = c.calls(path, "sample", object{"prompt": "x"})
		q = c.next(path, last, "question")
		c.do("POST", path+"/answers/"+text(q.data, "question"), object{"action": "decline"}, http.StatusNoContent)
		if got := text(c.result(path, n), "result.content") + text(c.result(path, n), "error.cause"); !strings.Contains(got, "the user refused it") {
			t.Errorf("the refusal came as %s", c.result(path, n))
		}
	})
}

func TestARequestOfTheServerEndsWithItsCall(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, _ string) {
		n := c.calls(path, "ask", nil)
		q := c.next(path, 0, "question")
		c.do("DELETE", path+"/requests/"+n, nil, http.StatusNoContent)
		if got := c.next(path, 0, "answered").data; text(got, "question") != text(q.data, "question") || text(got, "action") != "withdrawn" {
			t.Errorf("it ended as %s", got)
		}
		c.result(path, n)
		if got := text(c.do("GET", path, nil, http.StatusOK), "questions"); got != "0" {
			t.Errorf("%s are open", got)
		}
	})
}

// last returns the id of the last event so far.
func (c *console) last(path string) (n uint64) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(text(c.do("GET", path, nil, http.StatusOK), "events")), &n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

func TestProgressAndLogsAreEvents(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, _ string) {
		n := c.calls(path, "count-slowly", object{"steps": 3, "milliseconds": 3})
		var progress []string
		for _, e := range c.events(path, 0, func(e happened) bool { return e.name == "result" }) {
			if e.name == "notification" && text(e.data, "method") == "notifications/progress" && text(e.data, "request") == n {
				progress = append(progress, text(e.data, "params.message"))
			}
		}
		if got := strings.Join(progress, ", "); got != "step 1 of 3, step 2 of 3, step 3 of 3" {
			t.Errorf("progress: %s", got)
		}
		c.do("PUT", path+"/loglevel", object{"level": "loud"}, http.StatusBadRequest)
		for level, want := range map[string]string{"none": "", "error": "error critical alert emergency", "debug": "debug info notice warning error critical alert emergency"} {
			c.do("PUT", path+"/loglevel", object{"level": level}, http.StatusOK)
			if level == "none" && text(c.do("GET", path, nil, http.StatusOK), "revision") == "2025-11-25" {
				continue // it has no level none
			}
			last := c.last(path)
			c.calls(path, "log", nil)
			var levels []string
			for _, e := range c.events(path, last, func(e happened) bool { return e.name == "result" }) {
				if e.name == "notification" && text(e.data, "method") == "notifications/message" {
					levels = append(levels, text(e.data, "params.level"))
				}
			}
			if got := strings.Join(levels, " "); got != want {
				t.Errorf("at level %s: got %q, want %q", level, got, want)
			}
		}
	})
}

func TestARequestIsCancelledOrRunsOutOfTime(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, _ string) {
		n := c.calls(path, "wait", object{"milliseconds": 600_000})
		c.events(path, 0, func(e happened) bool {
			return e.name == "notification" || e.name == "message" && text(e.data, "method") == "tools/call"
		})
		if got := text(c.do("GET", path, nil, http.StatusOK), "running"); got != "1" {
			t.Errorf("%s requests run", got)
		}
		c.do("DELETE", path+"/requests/"+n, nil, http.StatusNoContent)
		if got := c.result(path, n); text(got, "state") != cancelled || text(got, "error.cause") != "it was cancelled here" {
			t.Errorf("cancelled: %s", got)
		}
		n = c.begins(path, object{"method": "tools/call", "timeout": 0.05, "params": object{"name": "wait", "arguments": object{"milliseconds": 600_000}}})
		if got := c.result(path, n); text(got, "state") != done || !strings.Contains(text(got, "error.cause"), "within 50ms") || !strings.Contains(text(got, "error.remedy"), "more time") {
			t.Errorf("out of time: %s", got)
		}
	})
}

func TestSubscriptionsAreLive(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, _ string) {
		c.do("PUT", path+"/subscriptions", object{"toolsListChanged": true, "resourceSubscriptions": []string{"everything://counter"}}, http.StatusAccepted)
		agreed := c.next(path, 0, "subscription")
		if got := text(agreed.data, "agreed.resourceSubscriptions"); got != `["everything://counter"]` {
			t.Fatalf("agreed: %s", agreed.data)
		}
		if got := text(c.do("GET", path, nil, http.StatusOK), "subscriptions.filter.toolsListChanged"); got != "true" {
			t.Errorf("the view does not show it")
		}
		last := c.last(path)
		c.calls(path, "update-resource", nil)
		c.events(path, last, func(e happened) bool {
			return e.name == "notification" && text(e.data, "method") == "notifications/resources/updated" && text(e.data, "params.uri") == "everything://counter"
		})
		c.calls(path, "toggle-tool", nil)
		c.events(path, last, func(e happened) bool {
			return e.name == "notification" && text(e.data, "method") == "notifications/tools/list_changed"
		})
		c.do("PUT", path+"/subscriptions", object{}, http.StatusAccepted)
		over := c.events(path, last, func(e happened) bool { return e.name == "subscription" })
		if got := text(over[len(over)-1].data, "ended"); got != "it was ended here" {
			t.Errorf("it ended: %q", got)
		}
	})
}

func TestACallBecomesATask(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, revision string) {
		n := c.begins(path, object{"method": "tools/call", "task": true, "params": object{"name": "brew", "arguments": object{"Milliseconds": 20}}})
		began := c.result(path, n)
		id := text(began, "result.taskId")
		if id == "" {
			id = text(began, "result.task.taskId")
		}
		if id == "" {
			t.Fatalf("there is no task: %s", began)
		}
		for {
			now := c.ask(path, "tasks/get", object{"taskId": id})
			if status := text(now, "result.status"); status == "completed" {
				break
			} else if status != "working" {
				t.Fatalf("the task is %s", now)
			}
		}
		n = c.begins(path, object{"method": "tools/call", "task": true, "params": object{"name": "brew", "arguments": object{"Milliseconds": 60_000}}})
		began = c.result(path, n)
		c.ask(path, "tasks/cancel", object{"taskId": text(began, "result.taskId")})
		for {
			now := c.ask(path, "tasks/get", object{"taskId": text(began, "result.taskId")})
			if status := text(now, "result.status"); status == "cancelled" {
				break
			} else if status != "working" {
				t.Fatalf("the task is %s", now)
			}
		}
		last := c.last(path)
		n = c.calls(path, "brew", object{"Milliseconds": 20}) // the task is waited for
		all := c.events(path, last, func(e happened) bool { return e.name == "result" })
		if got := c.result(path, n); !strings.Contains(text(got, "result.content"), "coffee") {
			t.Errorf("the task that was waited for: %s", got)
		}
		if i := slices.IndexFunc(all, func(e happened) bool { return e.name == "task" }); i < 0 || text(all[i].data, "request") != n || text(all[i].data, "task") == "" {
			t.Errorf("nothing is said of the task: %s", names(all))
		}
	})
}

func TestPromptsResourcesAndCompletion(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, _ string) {
		for _, test := range []struct {
			method string
			params object
			member string
			want   string
		}{
			{"prompts/list", nil, "result.prompts", "travel"},
			{"prompts/get", object{"name": "travel", "arguments": object{"country": "Norway"}}, "result.messages", "Norway"},
			{"resources/list", nil, "result.resources", "everything://text"},
			{"resources/read", object{"uri": "everything://text"}, "result.contents", "the text of a resource"},
			{"resources/templates/list", nil, "result.resourceTemplates", "everything://planets/{name}"},
			{"completion/complete", object{"ref": object{"type": "ref/prompt", "name": "travel"}, "argument": object{"name": "city", "value": "O"}, "context": object{"arguments": object{"country": "Norway"}}}, "result.completion.values", "Oslo"},
			{"ping", nil, "result", "{}"},
			{"resources/read", object{"uri": "everything://nope"}, "error.cause", "not found"},
			{"no/such/method", nil, "error.remedy", "see its capabilities"},
		} {
			if got := c.ask(path, test.method, test.params); !strings.Contains(text(got, test.member), test.want) {
				t.Errorf("%s: %s, want %q in %s", test.method, got, test.want, test.member)
			}
		}
		for method, want := range map[string]string{"": "method", "initialize": "already", "subscriptions/listen": "subscriptions", "logging/setLevel": "loglevel"} {
			if got := text(c.do("POST", path+"/requests", object{"method": method}, http.StatusBadRequest), "error"); !strings.Contains(got, want) {
				t.Errorf("%q: the error is %q", method, got)
			}
		}
	})
}

// The connection belongs to the user: its messages are shown in full, and each response has the
// number of its request.
func TestMessagesAreShownUnchanged(t *testing.T) {
	eachWay(t, func(t *testing.T, c *console, path, _, _ string) {
		const said = "password=sk-abcdefghijklmnop1234"
		n := c.calls(path, "echo", object{"message": said})
		c.result(path, n)
		var got []string
		var rpc string
		for _, e := range c.events(path, 0, func(e happened) bool { return e.name == "result" }) {
			if e.name != "message" || text(e.data, "request") != n || text(e.data, "method") != "tools/call" {
				continue // the client also sends other requests
			}
			got = append(got, text(e.data, "toServer")+" "+text(e.data, "kind")+" "+text(e.data, "method"))
			if !strings.Contains(text(e.data, "message"), said) {
				t.Errorf("the message is %s", e.data)
			}
			if id := text(e.data, "rpc"); id == "" || rpc != "" && id != rpc || (text(e.data, "ms") == "") != (rpc == "") {
				t.Errorf("the request has the id %q: %s", rpc, e.data)
			}
			rpc = text(e.data, "rpc")
		}
		if want := []string{"true request tools/call", "false response tools/call"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
