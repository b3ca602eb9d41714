package review_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
)

func Example() {
	pins := new(guard.Pins) // guard.Load keeps them in a file
	around := review.Middleware(review.Options{Server: "weather", Mode: review.All, Pins: func() *guard.Pins { return pins }, Remedy: "approve it"})
	s := mcp.NewServer("weather", "1")
	mcp.AddTool(s, "forecast", func(context.Context, struct{}) (string, error) { return "sunny", nil })
	_, err := mcp.Call[string](context.Background(), mcp.NewClient(around(s)), "forecast", nil)
	fmt.Println(err != nil)
	// Output: true
}
