// Package replicas connects the replicas of a service through the store that they share. A [Group]
// reports changes of shared data, counts the replicas, and notices when the store is away.
package replicas
