package config

// LoadText is Load with a file that is not on disk.
func LoadText(in Input, text string) (Settings, error) { return in.load([]byte(text)) }
