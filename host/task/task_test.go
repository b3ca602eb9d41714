package task_test

import (
	"context"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/task"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// play asks one question of a model that follows a script, with task and two servers.
func play(t *testing.T, o task.Options, q host.Question, turns ...scripted.Turn) (*scripted.Model, host.Answer) {
	t.Helper()
	own := mcp.NewServer("own", "1")
	task.Add(own, o)
	m := scripted.New(turns...)
	h, err := host.New(host.Options{Model: m, Tools: own, Servers: []host.Server{server("red"), server("blue")}, Limits: host.Limits{Steps: 6}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	answer, err := h.Conversation(nil).Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return m, answer
}

func server(name string) host.Server {
	s := mcp.NewServer(name, "1")
	for _, tool := range []string{"look", "paint"} {
		mcp.AddToolWith(s, mcp.Tool{Name: tool, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(tool == "look"), OpenWorldHint: new(false)}}, func(context.Context, struct{}) (string, error) { return name, nil })
	}
	return host.Server{Name: name, Handler: s, Trusted: true}
}

// offered are the names of a request's tools.
func offered(req *model.Request) string {
	var names []string
	for _, tool := range req.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// result is the last result in a request.
func result(req *model.Request) *model.Result {
	last := req.Messages[len(req.Messages)-1]
	return last.Parts[len(last.Parts)-1].Result
}

func TestASubAgentHasTheToolsThatWereChosen(t *testing.T) {
	for _, test := range []struct{ arguments, tools, note string }{
		{`{"task":"look"}`, "read_resource red__look red__paint blue__look blue__paint", ""},
		{`{"task":"look","tools":["red","blue__look"],"name":"painter"}`, "read_resource red__look red__paint blue__look", ""},
		{`{"task":"look","tools":["green","host__task"]}`, "read_resource", "no tools called green, host__task"},
	} {
		m, _ := play(t, task.Options{}, host.Question{Text: "look"}, scripted.Call("host__task", test.arguments), scripted.Say("Seen."), scripted.Say("Done."))
		if got := offered(m.Requests()[1]); got != test.tools {
			t.Errorf("%s: offered %s, want %s", test.arguments, got, test.tools)
		}
		if got := result(m.Requests()[2]); got.IsError || !strings.HasPrefix(got.Text(), "Seen.") || !strings.Contains(got.Text(), test.note) {
			t.Errorf("%s: the result is %q", test.arguments, got.Text())
		}
	}
}

// Neither the program's choice nor the question's is widened by the model's.
func TestASubAgentHasAtMostTheToolsOfItsParent(t *testing.T) {
	reads := func(t host.ToolInfo) bool { return t.ReadOnly }
	all := scripted.Call("host__task", `{"task":"paint","tools":["red","blue"]}`)
	for name, test := range map[string]struct {
		options  task.Options
		question host.Question
	}{
		"the program's":  {task.Options{Tools: reads}, host.Question{Text: "paint"}},
		"the question's": {task.Options{}, host.Question{Text: "paint", Tools: reads}},
	} {
		m, _ := play(t, test.options, test.question, all, scripted.Call("red__paint", ""), scripted.Say("No."), scripted.Say("Done."))
		if got := offered(m.Requests()[1]); got != "read_resource red__look blue__look" {
			t.Errorf("%s: offered %s", name, got)
		}
		if got := result(m.Requests()[2]); !strings.Contains(got.Text(), "There is no tool") {
			t.Errorf("%s: a tool that was not chosen: %q", name, got.Text())
		}
	}
}

func TestASubAgentThatIsEndedSaysSo(t *testing.T) {
	look := scripted.Call("red__look", "")
	m, answer := play(t, task.Options{Limits: host.Limits{Steps: 2}}, host.Question{Text: "look"}, scripted.Call("host__task", `{"task":"look"}`), look, look, scripted.Say("It did not finish."))
	if got := result(m.Requests()[3]); !got.IsError || !strings.Contains(got.Text(), "(steps)") || answer.Stop != "end" {
		t.Errorf("the result is %q, and the run ended with %s", got.Text(), answer.Stop)
	}
}
