// Structured-output returns values of Go types from tools. Programs get them as JSON that matches a
// schema, and models as text.
package main

import (
	"context"
	"log"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
)

type place struct {
	Location string `json:"location" doc:"City or location"`
	Units    string `json:"units" enum:"celsius,fahrenheit" default:"celsius"`
}

type weather struct {
	Location    string    `json:"location"`
	Temperature float64   `json:"temperature"`
	Units       string    `json:"units"`
	Conditions  string    `json:"conditions" doc:"Weather conditions"`
	Timestamp   time.Time `json:"timestamp" doc:"When retrieved"`
}

// Content returns the text that a model reads instead of the JSON.
func (w weather) Content() []mcp.Content {
	return []mcp.Content{mcp.Textf("Weather in %s: %.1f degrees %s, %s", w.Location, w.Temperature, w.Units, w.Conditions)}
}

type profile struct {
	ID    string   `json:"id" doc:"User ID"`
	Name  string   `json:"name" doc:"Full name"`
	Email string   `json:"email" format:"email"`
	Tags  []string `json:"tags"`
}

type asset struct {
	ID       string  `json:"id" doc:"Asset identifier"`
	Name     string  `json:"name"`
	Value    float64 `json:"value" doc:"Current value"`
	Currency string  `json:"currency" pattern:"[A-Z]{3}"`
}

var assets = []asset{{"btc", "Bitcoin", 45000.50, "USD"}, {"eth", "Ethereum", 3200.75, "USD"}, {"ada", "Cardano", 0.85, "USD"},
	{"sol", "Solana", 125.30, "USD"}, {"dot", "Polkadot", 18.45, "USD"}}

func getWeather(_ context.Context, in place) (weather, error) {
	degrees := map[string]float64{"celsius": 22.5, "fahrenheit": 72.5}[in.Units]
	return weather{in.Location, degrees, in.Units, "cloudy with a chance of meatballs", time.Now()}, nil
}

func newServer() *mcp.Server {
	s := mcp.NewServer("structured-example", "1.0.0")
	mcp.AddTool(s, "get_weather", getWeather)
	mcp.AddTool(s, "get_user_profile", func(_ context.Context, in struct {
		ID string `json:"userId" doc:"User ID"`
	}) (profile, error) {
		return profile{in.ID, "John Doe", "john.doe@example.com", []string{"developer", "golang"}}, nil
	})
	mcp.AddTool(s, "get_assets", func(_ context.Context, in struct {
		Limit int `json:"limit" default:"10" min:"1" doc:"Number of assets to return"`
	}) ([]asset, error) {
		return assets[:min(in.Limit, len(assets))], nil
	})
	return s
}

func main() {
	if err := stdio.Serve(context.Background(), newServer()); err != nil {
		log.Fatal(err)
	}
}
