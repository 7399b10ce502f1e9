package config

import (
	"freshet/internal/cluster/shards"
	"freshet/internal/freshet"
)

// setShard takes which of the daemons that share a budget this one is.
func setShard(s *Settings, v string) (err error) {
	s.Shard, err = shards.ParseShard(v)
	return err
}

// checkShard says what is wrong with how a budget is shared.
func (s *Settings) checkShard() error {
	switch {
	case s.Pool == "" && s.Shard.Alone():
		return nil
	case s.Pool == "":
		return &freshet.InvalidError{Field: "shard", Reason: "needs a pool: the database in which the shards share the budget, such as postgres://freshet@db/pool"}
	case s.Shard.Alone():
		return &freshet.InvalidError{Field: "pool", Reason: "needs a shard: which of how many daemons this one is, such as 2/3"}
	}
	return shards.Check(s.Limits.Budget, s.Shard.Of)
}
