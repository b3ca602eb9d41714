package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model/offline"
)

// A question, a model, a server with one tool. The offline model needs neither
// network nor key; package model/openai or model/anthropic takes its place. As the tool
// says that it changes nothing and reaches nobody, no person has to be asked.
func Example() {
	calc := mcp.NewServer("calc", "1.0.0")
	type pair struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	mcp.AddToolWith(calc, mcp.Tool{Name: "add", Description: "Add two numbers.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}}, func(_ context.Context, in pair) (string, error) {
		return fmt.Sprint(in.A + in.B), nil
	})

	h, err := host.New(host.Options{
		Model:   offline.New(),
		Servers: []host.Server{{Name: "calc", Handler: calc, Trusted: true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	answer, err := h.Conversation(nil).Ask(context.Background(), host.Question{Text: "add 2 and 40"})
	fmt.Println(answer.Text, err)
	// Output: 42 <nil>
}

// reads are the annotations of a tool that changes nothing and reaches nobody.
var reads = &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}

// A tool of the program itself is added as to any server, and is one of the server "host".
func ExampleOptions_tools() {
	own := mcp.NewServer("clock", "1.0.0")
	mcp.AddToolWith(own, mcp.Tool{Name: "time", Description: "Tell the time.", Annotations: reads}, func(context.Context, struct{}) (string, error) {
		return "noon", nil
	})

	m := scripted.New(scripted.Call("host__time", ""), scripted.Say("It is noon."))
	h, err := host.New(host.Options{Model: m, Tools: own, OnEvent: func(e host.Event) {
		if e.Returned != nil {
			fmt.Println(e.Returned.Server, e.Returned.Tool, e.Returned.Text)
		}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	answer, err := h.Conversation(nil).Ask(context.Background(), host.Question{Text: "what time is it?"})
	fmt.Println(answer.Text, err)
	// Output:
	// host time noon
	// It is noon. <nil>
}

// A hook sees each step before it is made, and may change it or end the run.
func ExampleOptions_beforeStep() {
	m := scripted.New(scripted.Say("Salve!"))
	h, err := host.New(host.Options{Model: m, BeforeStep: func(_ context.Context, s *host.Step) error {
		s.Instructions += "Answer in Latin."
		if s.Run > 1 {
			return errors.New("one question is enough")
		}
		return nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	c := h.Conversation(nil)
	for range 2 {
		answer, err := c.Ask(context.Background(), host.Question{Text: "hello"})
		fmt.Println(answer.Text, err)
	}
	fmt.Println(strings.Contains(m.Requests()[0].System, "Latin"))
	// Output:
	// Salve! <nil>
	//  before step 1: one question is enough
	// true
}

// A tool of the program asks a sub-agent, which shares the limits, the labels and the person's
// answers of the conversation that it works for.
func ExampleChild() {
	own := mcp.NewServer("assistant", "1.0.0")
	type work struct {
		Question string `json:"question"`
	}
	mcp.AddToolWith(own, mcp.Tool{Name: "research", Annotations: reads}, func(ctx context.Context, w work) (string, error) {
		child, err := host.Child(ctx, host.Agent{Name: "researcher", Limits: host.Limits{Steps: 10}})
		if err != nil {
			return "", err
		}
		answer, err := child.Ask(ctx, host.Question{Text: w.Question, Tools: func(t host.ToolInfo) bool { return t.Server != host.OwnServer }})
		return answer.Text, err
	})

	m := scripted.New(
		scripted.Call("host__research", `{"question":"How high is the Brocken?"}`),
		scripted.Say("1,141 m."), // the sub-agent
		scripted.Say("The Brocken is 1,141 m high."),
	)
	h, err := host.New(host.Options{Model: m, Tools: own})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	answer, err := h.Conversation(nil).Ask(context.Background(), host.Question{Text: "how high is the Brocken?"})
	fmt.Println(answer.Text, answer.Totals.Requests, err)
	// Output: The Brocken is 1,141 m high. 3 <nil>
}
