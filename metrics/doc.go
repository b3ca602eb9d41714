// Package metrics counts what is asked of a Handler, for Prometheus: requests and how they ended, how long
// they took, how much they returned, and how many run.
package metrics
