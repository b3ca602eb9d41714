package everything

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
)

// A profile is a form with every kind of field that forms allow.
type profile struct {
	Name     string    `json:"name" title:"Name" doc:"Your name." min:"1" max:"80"`
	Email    string    `json:"email,omitempty" title:"E-mail" format:"email"`
	Website  string    `json:"website,omitempty" title:"Website" format:"uri"`
	Birthday string    `json:"birthday,omitempty" title:"Birthday" format:"date"`
	Age      int       `json:"age" title:"Age" doc:"In years." min:"0" max:"150" default:"30"`
	Height   float64   `json:"height" title:"Height" doc:"In metres." min:"0" max:"3" default:"1.75"`
	News     bool      `json:"news" title:"Newsletter" doc:"Send me news." default:"true"`
	Size     string    `json:"size" title:"Size" enum:"small,medium,large" default:"medium"`
	Colour   colour    `json:"colour,omitempty"`
	Days     []string  `json:"days,omitempty" title:"Days" doc:"The days that suit you." enum:"mon,tue,wed,thu,fri" max:"5"`
	Toppings []topping `json:"toppings,omitempty" title:"Toppings" doc:"The toppings of the pizza." max:"2"`
}

// A colour is one value of a list whose values have titles.
type colour string

// MCPSchema returns a schema with titles, so that forms show these instead of the values.
func (colour) MCPSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","title":"Colour","oneOf":[{"const":"#d00","title":"Red"},{"const":"#0a0","title":"Green"},{"const":"#06c","title":"Blue"}],"default":"#06c"}`)
}

// A topping is one of several values of a list whose values have titles.
type topping string

// MCPSchema returns a schema with titles, so that forms show these instead of the values.
func (topping) MCPSchema() json.RawMessage {
	return json.RawMessage(`{"anyOf":[{"const":"cheese","title":"More cheese"},{"const":"olives","title":"Black olives"},{"const":"basil","title":"Fresh basil"}]}`)
}

type orderForm struct {
	Size string `json:"size" title:"Size" enum:"small,large"`
}

type confirmForm struct {
	Confirm bool `json:"confirm" title:"Order now?"`
}

type nameForm struct {
	Name string `json:"name" title:"Name"`
}

type placeForm struct {
	Place string `json:"place" title:"Place"`
}

// addQuestions registers tools that ask questions to the user or the client.
func addQuestions(s *mcp.Server) {
	mcp.AddToolWith(s, look("ask", "Ask with a form", "Ask the user to fill in a form with every kind of field, and return what was filled in."), ask)
	mcp.AddToolWith(s, look("ask-url", "Ask with a web page", "Ask the user to visit a web page (example.com), as a server does for a login or a payment."), askURL)
	mcp.AddToolWith(s, look("ask-twice", "Ask twice", "Ask the user two questions, the second of which depends on the answer to the first."), askTwice)
	mcp.AddToolWith(s, look("ask-two-at-once", "Ask two at once", "Ask the user two independent questions, both at once if the client supports this."), askTwoAtOnce)
	mcp.AddToolWith(s, look("list-roots", "List roots", "Ask the client for the folders in which servers may work, and list them."), listRoots)
}

// refusalAsResult converts a user's refusal to an ordinary result. Any other error stays an error.
func refusalAsResult(answer string, err error) (string, error) {
	switch {
	case errors.Is(err, mcp.ErrInputRequired):
		return "", err
	case errors.Is(err, mcp.ErrDeclined):
		return "The user declined to answer.", nil
	case errors.Is(err, mcp.ErrDismissed):
		return "The user dismissed the question.", nil
	}
	return answer, err
}

func ask(ctx context.Context, _ struct{}) (string, error) {
	p, err := mcp.Elicit[profile](ctx, "Please tell us something about yourself. Your answer is not stored.")
	if err != nil {
		return refusalAsResult("", err)
	}
	filled, err := json.Marshal(p)
	return "The user filled in: " + string(filled), err
}

func askURL(ctx context.Context, _ struct{}) (string, error) {
	result, err := mcp.ElicitRaw(ctx, mcp.ElicitRequest{
		Mode:          mcp.ElicitURL,
		Message:       "Please visit the example page. Nothing happens there.",
		URL:           "https://example.com/",
		ElicitationID: "example-page",
	})
	if err != nil {
		return "", err
	}
	return "The user's answer to the request to open the page: " + result.Action + ".", nil
}

// askTwice also shows how to do work between two questions only once. With clients of some
// revisions, the server runs the tool from the start after each reply.
func askTwice(ctx context.Context, _ struct{}) (string, error) {
	order, err := mcp.Elicit[orderForm](ctx, "Which size of pizza?")
	if err != nil {
		return refusalAsResult("", err)
	}
	var price int
	known, err := mcp.LoadFromLastRound(ctx, "price", &price)
	if err != nil {
		return "", err
	}
	if !known {
		price = map[string]int{"small": 8, "large": 11}[order.Size]
		if err := mcp.SaveForNextRound(ctx, "price", price); err != nil {
			return "", err
		}
	}
	confirmed, err := mcp.Elicit[confirmForm](ctx, fmt.Sprintf("A %s pizza is %d euros. Order it?", order.Size, price))
	switch {
	case err != nil:
		return refusalAsResult("", err)
	case !confirmed.Confirm:
		return "No pizza was ordered.", nil
	}
	return fmt.Sprintf("A %s pizza for %d euros was not really ordered.", order.Size, price), nil
}

func askTwoAtOnce(ctx context.Context, _ struct{}) (string, error) {
	name, nameErr := mcp.Elicit[nameForm](ctx, "What is your name?")
	if nameErr != nil && !errors.Is(nameErr, mcp.ErrInputRequired) {
		return refusalAsResult("", nameErr)
	}
	place, placeErr := mcp.Elicit[placeForm](ctx, "Where are you?")
	if err := errors.Join(nameErr, placeErr); err != nil {
		return refusalAsResult("", err)
	}
	return fmt.Sprintf("%s is in %s.", name.Name, place.Place), nil
}

type rootsOutput struct {
	Roots []rootOutput `json:"roots" doc:"The folders and files in which servers may work."`
}

type rootOutput struct {
	URI  string `json:"uri" doc:"Its location, as a file: URI."`
	Name string `json:"name,omitempty" doc:"Its name for the client."`
}

func listRoots(ctx context.Context, _ struct{}) (rootsOutput, error) {
	roots, err := mcp.Roots(ctx)
	if err != nil {
		return rootsOutput{}, err
	}
	out := rootsOutput{Roots: make([]rootOutput, len(roots))}
	for i, r := range roots {
		out.Roots[i] = rootOutput{URI: r.URI, Name: r.Name}
	}
	return out, nil
}
