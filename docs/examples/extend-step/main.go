package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model/offline"
	"github.com/junction-mcp/junction/servers/everything"
)

func careful(_ context.Context, s *host.Step) error {
	if s.Number > 1 {
		return errors.New("one step is enough for this program")
	}
	s.Instructions += "\nToday is " + time.Now().Format(time.DateOnly) + "."
	s.Tools = slices.DeleteFunc(s.Tools, func(t host.ToolInfo) bool { return !t.ReadOnly })
	return nil
}

func main() {
	h, err := host.New(host.Options{
		Model:      offline.New(),
		Servers:    []host.Server{{Name: "everything", Handler: everything.New(), Trusted: true}},
		BeforeStep: careful,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	_, err = h.Conversation(nil).Ask(context.Background(), host.Question{Text: "add 2 and 40"})
	fmt.Println(err)
}
