import { environmentOnly, named, setting } from './setting.ts'
import { seconds, serverUrl, text } from './values.ts'

/** Every setting of the commands that call a server, with its name, default, range and help. */
export const clientSettings = named({
  url: setting(serverUrl, 'Address of the server.', 'http://127.0.0.1:8080'),
  apiKey: environmentOnly(text, 'API key (environment only: command lines are public).'),
  apiKeyFile: setting(text, 'File with the API key.'),
  tokenFile: environmentOnly(
    text,
    'Without an API key: file with a token of the platform, exchanged for one; read again at each exchange.',
  ),
  idToken: environmentOnly(text, 'Such a token, as GitLab CI sets it.'),
  accessRule: environmentOnly(text, 'Id of the access rule, if several accept the token.'),
  project: setting(text, 'Id or name of the project.', 'default'),
  profile: setting(text, 'Profile of the configuration file to use.', 'default'),
  timeout: setting(seconds(1, 600), 'Timeout of one request, with its retries.', '30s'),
})
