package toolsearch_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/toolsearch"
)

func Example() {
	x := toolsearch.New(toolsearch.Options{})
	x.SetServer("calendar", "Events and reminders", []toolsearch.Tool{
		{Name: "createEvent", Description: "Adds an event with a start and an end."},
		{Name: "listEvents", Description: "Shows the events of a day."},
	})
	x.SetServer("mail", "Letters", []toolsearch.Tool{
		{Name: "send_message", Description: "Sends a letter to a recipient."},
	})

	r := x.Search(context.Background(), toolsearch.Query{Text: "email someone", Limit: 1})
	fmt.Println(r.Hits[0].ID)

	// One query for each step of a task, and one list of tools for all of them.
	steps := x.SearchAll(context.Background(), []toolsearch.Query{
		{Text: "what events are there on Friday"},
		{Text: "send a letter about it"},
	})
	for _, hit := range toolsearch.Merge(steps, 2) {
		fmt.Println(hit.ID)
	}
	// Output:
	// mail__send_message
	// calendar__listEvents
	// mail__send_message
}
