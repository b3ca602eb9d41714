// Package metrics counts the requests to a Handler for Prometheus, with their outcomes, durations,
// sizes and concurrency.
package metrics
