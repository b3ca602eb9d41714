// Package deploy tests what is needed to run Junction for many people: the image (image), the chart
// (chart), the same as plain files (kustomize), and rules and a dashboard for its metrics. load
// measures a gateway in a cluster.
package deploy
