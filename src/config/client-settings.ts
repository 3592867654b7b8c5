import { type Setting, setting } from './setting.ts'
import { httpUrl, seconds, text } from './values.ts'

/** Every setting of the commands that call a server, with its name, default, range and help. */
export const clientSettings = {
  url: setting('url', 'http://127.0.0.1:8080', httpUrl, 'Address of the server.'),
  apiKey: {
    env: 'PUBRING_API_KEY',
    default: undefined,
    help: 'API key (environment only: command lines are public).',
    parse: text,
  } satisfies Setting<string>,
  apiKeyFile: setting('api-key-file', undefined, text, 'File with the API key.'),
  project: setting('project', 'default', text, 'Id or name of the project.'),
  profile: setting('profile', undefined, text, 'Profile of the configuration file to use.'),
  timeout: setting('timeout', '30s', seconds(1, 600), 'Timeout of one request.'),
}
