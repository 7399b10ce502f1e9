package app

import (
	"context"
	"encoding/json"
	"fmt"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/app/config"
	"freshet/internal/store/postgres"
)

// currentSettings returns the settings that can be changed while the daemon runs, as the API tells them.
func (s *service) currentSettings() client.Settings { return settingsOf(*s.inForce.Load()) }

func settingsOf(s config.Settings) client.Settings {
	told := client.Settings{File: s.File, Items: []client.Setting{}}
	for _, o := range config.Live() {
		from := s.From(o.Key)
		item := client.Setting{
			Key: o.Key, Value: o.Text(s), Default: o.Text(config.Defaults(func(string) string { return "" })), From: string(from), About: o.Help,
			Fixed: from != config.FromDefault && from != config.FromAPI,
		}
		switch from {
		case config.FromFile:
			item.Where = s.File
		case config.FromEnv:
			item.Where = o.Env
		case config.FromFlag:
			item.Where = "--" + o.Flag
		}
		told.Items = append(told.Items, item)
	}
	return told
}

// setSettings changes settings and keeps them in the data directory or the database; on a dry run it only
// judges them. It returns them as they are then.
func (s *service) setSettings(ctx context.Context, edit client.SettingsEdit) (told client.Settings, bounds api.Bounds, err error) {
	err = s.between(ctx, func(ctx context.Context) error {
		was := s.settings
		to, err := was.With(edit.Set, edit.Unset)
		if err != nil {
			return err
		}
		told = settingsOf(to)
		bounds = api.Bounds{Now: was.Limits, Then: to.Limits, Keep: to.Retention.Keep, Logs: to.Retention.Logs, KeepChanges: was.Retention.Keep != to.Retention.Keep || was.Retention.Logs != to.Retention.Logs}
		if edit.DryRun {
			return nil
		}
		kept, err := s.readSaved(ctx)
		if err != nil {
			return err
		}
		for _, key := range edit.Unset {
			delete(kept, key)
		}
		for _, o := range config.Live() {
			if _, set := edit.Set[o.Key]; set {
				kept[o.Key] = o.Text(to)
			}
		}
		if err := s.writeSaved(ctx, kept); err != nil {
			return err
		}
		s.apply(to)
		s.Log.Info("settings changed over the API", "set", edit.Set, "unset", edit.Unset)
		return nil
	})
	return told, bounds, err
}

// readSaved returns what was set over the API. In a database where nothing was set yet that is
// what the data directory has.
func (s *service) readSaved(ctx context.Context) (map[string]string, error) {
	return savedSettings(ctx, s.peers, s.settings.Data)
}

// savedSettings is readSaved, of a database if there is one, or of a data directory.
func savedSettings(ctx context.Context, peers *postgres.Peers, data string) (map[string]string, error) {
	if peers == nil {
		return config.ReadKept(data)
	}
	text, err := peers.Fact(ctx, settingsFact)
	switch {
	case err != nil:
		return nil, err
	case text == "":
		return config.ReadKept(data)
	}
	kept := map[string]string{}
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return nil, fmt.Errorf("read what was set over the API: %w", err)
	}
	return kept, nil
}

// writeSaved replaces what was set over the API.
func (s *service) writeSaved(ctx context.Context, kept map[string]string) error {
	if s.peers == nil {
		return config.WriteKept(s.settings.Data, kept)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return s.node.leads.SetFact(ctx, settingsFact, string(text))
}

// withSaved returns settings with what was set over the API, if that is not in them already.
func (s *service) withSaved(ctx context.Context, to config.Settings) (config.Settings, error) {
	if s.peers == nil {
		return to, nil
	}
	kept, err := s.readSaved(ctx)
	if err == nil {
		err = to.TakeKept(kept, "the settings in "+s.peers.Name())
	}
	return to, err
}
