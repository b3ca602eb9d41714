package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// A shouting model repeats the last message in capitals. A real model sends req to its service.
type shouting struct{}

func (shouting) Info() model.Info {
	return model.Info{Provider: "example", Name: "shouting", Window: 8_000, Language: true}
}

func (shouting) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	text := strings.ToUpper(req.Messages[len(req.Messages)-1].Text())
	if emit != nil { // called for each piece of the text as it arrives
		emit(model.Delta{Text: text})
	}
	answer := model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: text}}}
	return &model.Response{Message: answer, Stop: model.StopEnd, Usage: model.Usage{Input: 10, Output: 3}}, nil
}

func main() {
	h, err := host.New(host.Options{Model: model.Retrying(shouting{})})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	answer, err := h.Conversation(nil).Ask(context.Background(), host.Question{Text: "hello"})
	fmt.Println(answer.Text, err)
}
