import { render } from '../../render.tsx'
import { RegisterPage } from './page.tsx'

render(<RegisterPage />)
