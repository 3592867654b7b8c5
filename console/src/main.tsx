import { App } from './app.tsx'
import { render } from './render.tsx'

render(<App />)
