"""Answers like Hadoop's ResourceManager: ``/ws/v1/cluster`` and the servlets, to the letter.

routes/      one module per resource; each gives a list of routes
wire/        the exact YARN shapes, field by field
application_lists, long_answers, rendered, shared_answers
             long lists: made once, shared by all who read them, sent in parts
"""
